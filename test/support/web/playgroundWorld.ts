import type { CalmService } from '../service/calmService.ts'
import { until } from '../timing.ts'
import type { Visit } from './browser.ts'
import type { Studio } from './studio.ts'
import { studioOf } from './studio.ts'
import { usePage } from './usePage.ts'

/** Gives the calling file a browser to open the playground of a service with. Without a Chromium each test is skipped. */
export function usePlaygroundWorld({
  url,
  account: newAccount,
  simulator,
}: Pick<CalmService, 'url' | 'account' | 'simulator'>) {
  const testPage = usePage()
  return {
    get browser() {
      return testPage.browser
    },
    /** The upstream calls for a prompt, once there are `count`. */
    calls: (prompt: string, count = 0) => simulator.waitForCalls(count, { prompt }),
    /** Lets a call with the fault `hold` go on. The page shows its task as processing a moment before it is held. */
    release: (prompt: string) =>
      until('a held call', async () => (await simulator.release({ prompt })) > 0 || undefined),
    /**
     * Opens the playground for an account, by default a new one with 10,000 credits. What must hold at the end is at
     * `usePage`.
     */
    inStudio: async (
      work: (studio: Studio, opened: Visit) => Promise<void>,
      account?: { readonly secret: string },
    ) => {
      const { secret } = account ?? (await newAccount(10_000))
      await testPage.signedIn(url, secret, async (visited) => {
        await work(await studioOf(visited.page), visited)
      })
    },
  }
}
