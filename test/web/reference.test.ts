import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { TestApi } from '../support/http/testApi.ts'
import { startTestApi } from '../support/http/testApi.ts'
import { launchChromium, noChromium, visit } from '../support/web/browser.ts'

/** Swagger UI renders for seconds on a busy machine. */
const renderMsMax = 25_000

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

  it('shows every operation, calls nobody else and complains about nothing [pages-4]', async () => {
    if (browser === undefined) return
    const { page, complaints, requests, close } = await visit(browser, `${api.url}/docs`)
    page.setDefaultTimeout(renderMsMax)
    const shown = page.locator('#reference .opblock-summary-path')
    await shown.first().waitFor()
    const { paths, webhooks } = Object(await (await fetch(`${api.url}/openapi.json`)).json())
    const described = Object.values<object>({ ...paths, ...webhooks }).flatMap(Object.keys)
    expect(await shown.count()).toBe(described.length)
    expect(requests.filter((address) => !address.startsWith(`${api.url}/`))).toEqual([])
    if (process.env['SCREENSHOT']) await page.screenshot({ path: process.env['SCREENSHOT'] })
    await page.locator('#operations-Tasks-submitTask button').first().click()
    await page.getByText('Idempotency-Key').first().waitFor()
    expect(complaints).toEqual([])
    await close()
  })

  it('sends a request of the reader to its own origin', async () => {
    if (browser === undefined) return
    const { page, complaints, close } = await visit(browser, `${api.url}/docs`)
    page.setDefaultTimeout(renderMsMax)
    const operation = page.locator('#operations-Service-getHealth')
    await operation.locator('button').first().click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.getByRole('button', { name: 'Execute' }).click()
    await operation.locator('.live-responses-table').getByText('"status": "ok"').waitFor()
    expect(complaints).toEqual([])
    await close()
  })
})

describe('the policy of the reference page', () => {
  it('allows no inline script or style, and no other origin [pages-5]', async () => {
    const answer = await fetch(`${api.url}/docs`)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(answer.headers.get('cache-control')).toBe('no-cache')
  })

  it('has no answer where the operator hides public pages [pages-6]', async () => {
    const hidden = await startTestApi({ publicPages: false })
    for (const path of ['/docs', '/docs/docs.css', '/docs/library/swagger-ui.js']) {
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
