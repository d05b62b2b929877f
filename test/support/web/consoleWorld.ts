import type { Browser, Locator, Page } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import { adminSecrets } from '../service/adminClient.ts'
import { useOpened } from '../useOpened.ts'
import type { Hook } from '../webhooks/useWebhooks.ts'
import { useWebhooks } from '../webhooks/useWebhooks.ts'
import type { visit as visitPage } from './browser.ts'
import { launchChromium, noChromium, visit } from './browser.ts'

/** What operators do in the console. */
export type OpenConsole = {
  readonly page: Page
  /** Shows a view by its address, and waits until it is read. */
  readonly show: (address: string) => Promise<void>
  readonly press: (button: string, within?: Locator) => Promise<void>
  /** Presses a button, and the same in the dialog that it opens, after `fill` has filled the fields by their labels. */
  readonly change: (
    button: string,
    fill?: Readonly<Record<string, string>>,
    within?: Locator,
  ) => Promise<void>
  readonly see: (text: string | RegExp) => Promise<void>
  readonly dialog: Locator
}

type Options = Parameters<typeof visitPage>[2] & { readonly role?: keyof typeof adminSecrets }

/** The calm service with a receiver of webhooks, and a browser to open its console with. */
export type ConsoleWorld = {
  readonly newHook: () => Promise<Hook>
  readonly service: ReturnType<typeof useWebhooks>['service']
  /**
   * Opens the console with the operator's key, or the viewer's. At the end the browser must have complained about
   * nothing but error statuses, every request must have gone to the process, and the key must be in no address.
   */
  readonly inConsole: (
    work: (opened: OpenConsole) => Promise<void>,
    options?: Options,
  ) => Promise<void>
}

/** Opens a `ConsoleWorld` before the tests of the calling file. Without a Chromium each test is skipped. */
export function useConsoleWorld(): ConsoleWorld {
  const hooks = useWebhooks()
  beforeEach((context) => {
    if (noChromium !== undefined) context.skip(noChromium)
  })
  const opened = useOpened(
    async () => (noChromium === undefined ? { browser: await launchChromium() } : undefined),
    ({ browser }) => browser.close(),
    ['browser'],
  )
  return {
    get service() {
      return hooks.service
    },
    newHook: () => hooks.newHook(),
    inConsole: (work, options) =>
      inConsole(opened.browser, hooks.service.adminUrl, work, options ?? {}),
  }
}

async function inConsole(
  browser: Browser,
  url: string,
  work: (opened: OpenConsole) => Promise<void>,
  { role = 'boss', ...context }: Options,
): Promise<void> {
  const secret = adminSecrets[role]
  const { page, complaints, requests, close } = await visit(browser, url, context)
  try {
    await page.getByLabel('Admin key').fill(secret)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Overview' }).waitFor()
    await work(consoleOf(page, url))
    expect(complaints.filter((text) => !text.includes('Failed to load resource'))).toEqual([])
    const origins = requests.map((each) => new URL(each.replace(/^blob:/, '')).origin)
    expect([...new Set(origins)]).toEqual([url])
    expect(requests.filter((each) => each.includes(secret))).toEqual([])
    expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0)
  } finally {
    await close()
  }
}

function consoleOf(page: Page, url: string): OpenConsole {
  const dialog = page.locator('dialog[open]')
  const press = (button: string, within: Locator | Page = page) =>
    within.getByRole('button', { name: button, exact: true }).first().click()
  return {
    page,
    dialog,
    press,
    show: async (address) => {
      await page.goto(`${url}/#/${address}`)
      await page.locator('main').locator('table, .hint, .facts-list').first().waitFor()
    },
    change: async (button, fill = {}, within) => {
      await press(button, within)
      for (const [label, value] of Object.entries(fill)) {
        await dialog.getByLabel(label, { exact: true }).fill(value)
      }
      await press(button, dialog)
    },
    see: (text) => page.locator('main, header').getByText(text).first().waitFor(),
  }
}
