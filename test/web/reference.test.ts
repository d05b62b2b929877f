import type { Browser } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { TestApi } from '../support/http/testApi.ts'
import { startTestApi } from '../support/http/testApi.ts'
import type { Visit } from '../support/web/browser.ts'
import { launchChromium, noChromium, seriousProblems, visit } from '../support/web/browser.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
  return () => api.close()
})

/** All tests have one page, because a new one takes four times the CPU of a reload. They depend on their order. */
describe.skipIf(noChromium !== undefined)('the reference page', () => {
  let browser: Browser
  let opened: Visit
  const bytes: Promise<number>[] = []
  beforeAll(async () => {
    browser = await launchChromium()
    opened = await visit(browser, 'about:blank')
    opened.page.on('requestfinished', (request) => {
      bytes.push(request.sizes().then((size) => size.responseBodySize))
    })
    await opened.page.goto(`${api.url}/docs`)
    await opened.page.locator('.operation').first().waitFor()
    return () => browser.close()
  })
  it('fits a phone and the dark, weighs less than 400 KiB, and leads only to places that it has', async () => {
    const { page } = opened
    const total = (await Promise.all(bytes)).reduce((sum, each) => sum + each, 0)
    expect(bytes.length).toBeGreaterThan(10)
    expect(total).toBeLessThan(400 * 1024)
    const lost = `[...document.querySelectorAll('a[href^="#"]')]
      .map((link) => link.hash.slice(1)).filter((id) => !document.getElementById(id))`
    expect(await page.evaluate(lost)).toEqual([])
    await openOperations('each.id === "submitTask"')
    for (const [width, colorScheme] of [
      [390, 'dark'],
      [1280, 'light'],
    ] as const) {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme })
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
      expect(wide).toBeLessThanOrEqual(width)
      expect(await seriousProblems(page)).toEqual([])
    }
  })

  it('finds by words of the guide and of operations, with the keyboard alone', async () => {
    const { page } = opened
    const links = page.locator('#contents a')
    await page.keyboard.press('/')
    await page.keyboard.type('rotateWebhookSecret')
    await page.keyboard.press('Enter')
    await page.locator('#rotateWebhookSecret[open]').waitFor()
    await page.getByRole('searchbox').fill('five minutes from your clock')
    expect(await links.allTextContents()).toEqual(['Webhooks'])
    await page.getByRole('searchbox').fill('')
  })

  it('shows every operation, sends a request of the reader, calls nobody else and complains about nothing [pages-4]', async () => {
    const { page } = opened
    const { paths } = Object(await (await fetch(`${api.url}/openapi.json`)).json())
    const count = Object.values<object>(paths).flatMap(Object.keys).length
    expect(await page.locator('.operation').count()).toBe(count)
    await openOperations('true')
    expect(await page.locator('.operation[open]').count()).toBe(count)
    const submit = page.locator('#submitTask')
    await submit.getByText('insufficient_user_quota').waitFor()
    await submit.getByText('Makes a retry safe').waitFor()
    await submit.getByText('Send this request').click()
    await submit.getByLabel('API key').fill('sk-a')
    await submit.getByRole('button', { name: 'Send', exact: true }).click()
    await submit.getByText('"status": "queued"').waitFor()
    // The playground finds the key, and so does the next form.
    expect(await page.evaluate('sessionStorage.getItem("darkroom.key")')).toBe('"sk-a"')
    // Of all tests of this page.
    const foreign = opened.requests.filter((url) => !url.startsWith(`${api.url}/`))
    expect(foreign.filter((url) => url !== 'about:blank')).toEqual([])
    expect(opened.complaints).toEqual([])
  })

  /** Opens the operations for which an expression on `each` is true. */
  const openOperations = (which: string) =>
    opened.page.evaluate(
      `for (const each of document.querySelectorAll(".operation")) if (${which}) each.open = true`,
    )
})

describe('the policy of the reference page', () => {
  it('allows no inline script or style, and no other origin [pages-5]', async () => {
    const answer = await fetch(`${api.url}/docs`)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toMatch(/script-src 'self' 'sha256-[A-Za-z0-9+/]{43}='/)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(answer.headers.get('cache-control')).toBe('no-cache')
  })

  it('has no answer where the operator hides public pages [pages-6]', async () => {
    const hidden = await startTestApi({ publicPages: false })
    for (const path of ['/', '/playground/app.js', '/docs', '/docs/docs.js']) {
      const posted = await fetch(`${hidden.url}${path}`, { method: 'POST' })
      expect(posted.status).toBe(404)
      const answer = await fetch(`${hidden.url}${path}`)
      expect([answer.status, await answer.json()]).toMatchObject([
        404,
        { error: { code: 'not_found', message: `Invalid URL (GET ${path})` } },
      ])
    }
    expect((await fetch(`${hidden.url}/openapi.json`)).status).toBe(404)
    await hidden.close()
  })
})
