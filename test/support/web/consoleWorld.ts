import type { Locator, Page } from 'playwright-core'
import { adminSecrets } from '../service/adminClient.ts'
import type { CalmService } from '../service/calmService.ts'
import { usePage } from './usePage.ts'

/** Gives the calling file a browser to open the console of a service with. Without a Chromium each test is skipped. */
export function useConsoleWorld({ adminUrl: url }: CalmService) {
  const { signedIn } = usePage()
  return {
    /** Opens the console with the operator's key, or the viewer's. What must hold at the end is at `usePage`. */
    inConsole: (
      work: (opened: ReturnType<typeof consoleOf>) => Promise<void>,
      role: keyof typeof adminSecrets = 'boss',
    ) =>
      signedIn(url, adminSecrets[role], async ({ page }) => {
        await page.getByRole('link', { name: 'Overview' }).waitFor()
        await work(consoleOf(page, url))
      }),
  }
}

/** What operators do in the console. */
function consoleOf(page: Page, url: string) {
  const dialog = page.locator('dialog[open]')
  const press = (button: string, within: Locator | Page = page) =>
    within.getByRole('button', { name: button, exact: true }).first().click()
  return {
    page,
    dialog,
    press,
    /** Shows a view by its address, and waits until it is read. */
    show: async (address: string) => {
      await page.goto(`${url}/#/${address}`)
      await page.locator('main').locator('table, .hint, .facts-list').first().waitFor()
    },
    /** Presses a button, and the same in the dialog that it opens, after `fill` has filled the fields by their labels. */
    change: async (
      button: string,
      fill: Readonly<Record<string, string>> = {},
      within?: Locator,
    ) => {
      await press(button, within)
      for (const [label, value] of Object.entries(fill)) {
        await dialog.getByLabel(label, { exact: true }).fill(value)
      }
      await press(button, dialog)
    },
    see: (text: string | RegExp) => page.locator('main, header').getByText(text).first().waitFor(),
  }
}
