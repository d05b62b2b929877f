import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { TestApi } from '../support/http/testApi.ts'
import { startTestApi } from '../support/http/testApi.ts'
import { launchChromium, noChromium, seriousProblems, visit } from '../support/web/browser.ts'

let api: TestApi
let browser: Browser | undefined
beforeAll(async () => {
  api = await startTestApi()
  if (noChromium === undefined) browser = await launchChromium()
})
afterAll(async () => {
  await browser?.close()
  await api.close()
})

describe('the reference page', () => {
  beforeEach((context) => {
    if (noChromium !== undefined) context.skip(noChromium)
  })

  it('shows every operation, sends a request of the reader, calls nobody else and complains about nothing [pages-4]', async () => {
    await inReference(async (page) => {
      const shown = page.locator('.operation')
      await shown.first().waitFor()
      const { paths } = Object(await (await fetch(`${api.url}/openapi.json`)).json())
      expect(await shown.count()).toBe(Object.values<object>(paths).flatMap(Object.keys).length)
      await page.evaluate(
        'for (const each of document.querySelectorAll(".operation")) each.open = true',
      )
      const submit = page.locator('#submitTask')
      await submit.getByText('insufficient_user_quota').waitFor()
      await submit.getByText('Makes a retry safe').waitFor()
      expect(await seriousProblems(page)).toEqual([])
      await submit.getByText('Send this request').click()
      await submit.getByLabel('API key').fill('sk-a')
      await submit.getByRole('button', { name: 'Send', exact: true }).click()
      await submit.getByText('"status": "queued"').waitFor()
      // The playground finds the key, and so does the next form.
      expect(await page.evaluate('sessionStorage.getItem("darkroom.key")')).toBe('"sk-a"')
    })
  })

  it('finds by words of the guide and of operations, with the keyboard alone', async () => {
    await inReference(async (page) => {
      const links = page.locator('#contents a')
      await links.first().waitFor()
      await page.keyboard.press('/')
      await page.keyboard.type('rotateWebhookSecret')
      await page.keyboard.press('Enter')
      await page.locator('#rotateWebhookSecret[open]').waitFor()
      await page.getByRole('searchbox').fill('five minutes from your clock')
      expect(await links.allTextContents()).toEqual(['Webhooks'])
    })
  })

  it('fits a phone and the dark, weighs less than 400 KiB, and leads only to places that it has', async () => {
    await inReference(async (page) => {
      const bytes: Promise<number>[] = []
      page.on('requestfinished', (request) => {
        bytes.push(request.sizes().then((size) => size.responseBodySize))
      })
      await page.reload()
      for (const [width, colorScheme] of [
        [390, 'dark'],
        [1280, 'light'],
      ] as const) {
        await page.setViewportSize({ width, height: 844 })
        await page.emulateMedia({ colorScheme })
        await page.locator('.operation').first().waitFor()
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
        expect(wide).toBeLessThanOrEqual(width)
        expect(await seriousProblems(page)).toEqual([])
        const path = process.env['SCREENSHOT']
        if (path) await page.screenshot({ path: `${path}-${width}.png` })
      }
      const lost = `[...document.querySelectorAll('a[href^="#"]')]
        .map((link) => link.hash.slice(1)).filter((id) => !document.getElementById(id))`
      expect(await page.evaluate(lost)).toEqual([])
      const total = (await Promise.all(bytes)).reduce((sum, each) => sum + each, 0)
      expect(bytes.length).toBeGreaterThan(10)
      expect(total).toBeLessThan(400 * 1024)
      if (process.env['SCREENSHOT']) console.log(total)
    })
  })
})

/** Opens the page. At the end the console must be empty, and every request must have gone to the service. */
async function inReference(work: (page: Page) => Promise<void>): Promise<void> {
  if (browser === undefined) throw new Error('Bug: no browser')
  const { page, complaints, requests, close } = await visit(browser, `${api.url}/docs`)
  await work(page)
  expect(requests.filter((address) => !address.startsWith(`${api.url}/`))).toEqual([])
  expect(complaints).toEqual([])
  await close()
}

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
    for (const path of ['/docs', '/docs/docs.css', '/docs/docs.js']) {
      const posted = await fetch(`${hidden.url}${path}`, { method: 'POST' })
      expect(posted.status).toBe(404)
      const answer = await fetch(`${hidden.url}${path}`)
      expect([answer.status, await answer.json()]).toMatchObject([
        404,
        { error: { code: 'not_found', message: `Invalid URL (GET ${path})` } },
      ])
    }
    await hidden.close()
  })
})
