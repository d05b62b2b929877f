import { beforeEach, expect } from 'vitest'
import { useOpened } from '../useOpened.ts'
import type { Visit } from './browser.ts'
import { launchChromium, noChromium, usualSize, visit } from './browser.ts'

/**
 * Starts a browser before the tests of the calling file. Without a Chromium each test is skipped. All tests have the
 * same page, one after the other, because a new one takes four times the CPU of a reload.
 */
export function usePage() {
  beforeEach((context) => {
    if (noChromium !== undefined) context.skip(noChromium)
  })
  const opened = useOpened(
    async () => (noChromium === undefined ? { browser: await launchChromium() } : undefined),
    ({ browser }) => browser.close(),
    ['browser'],
  )
  let kept: Visit | undefined
  return {
    get browser() {
      return opened.browser
    },
    /**
     * Opens `url` and signs in with a key. At the end the browser must have complained about nothing but error statuses,
     * every request must have gone to the origin of `url`, the key must be in no address, and nothing may be kept.
     */
    signedIn: async (url: string, secret: string, work: (opened: Visit) => Promise<void>) => {
      const left = kept
      // A test that fails leaves a page that others cannot use.
      kept = undefined
      const current = left ?? (await visit(opened.browser, url))
      if (left !== undefined) await startOver(left, url)
      const { page, complaints, requests } = current
      try {
        await page.locator('#key').fill(secret)
        await page.keyboard.press('Enter')
        await work(current)
        expect(complaints.filter((text) => !text.includes('Failed to load resource'))).toEqual([])
        const origins = requests.map((each) => new URL(each.replace(/^blob:/, '')).origin)
        expect([...new Set(origins)]).toEqual([url])
        expect(requests.filter((each) => each.includes(secret))).toEqual([])
        expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0)
      } catch (error) {
        await current.close()
        throw error
      }
      kept = current
    },
  }
}

/** Makes the page what a new one would be. */
async function startOver({ page, complaints, requests }: Visit, url: string): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.setViewportSize(usualSize)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.evaluate('sessionStorage.clear()')
  complaints.length = 0
  requests.length = 0
  await page.goto(url)
}
