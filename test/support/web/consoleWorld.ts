import type { Locator, Page } from 'playwright-core'
import { adminSecrets } from '../service/adminClient.ts'
import type { CalmService } from '../service/calmService.ts'
import { usePage } from './usePage.ts'

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

/** A browser to open the console of a service with. */
export type ConsoleWorld = {
  /** Opens the console with the operator's key, or the viewer's. What must hold at the end is at `TestPage`. */
  readonly inConsole: (
    work: (opened: OpenConsole) => Promise<void>,
    role?: keyof typeof adminSecrets,
  ) => Promise<void>
}

/** Opens a `ConsoleWorld` before the tests of the calling file. Without a Chromium each test is skipped. */
export function useConsoleWorld({ adminUrl: url }: CalmService): ConsoleWorld {
  const { signedIn } = usePage()
  return {
    inConsole: (work, role = 'boss') =>
      signedIn(url, adminSecrets[role], async ({ page }) => {
        await page.getByRole('link', { name: 'Overview' }).waitFor()
        await work(consoleOf(page, url))
      }),
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
