import type { CalmService } from '../service/calmService.ts'
import { until } from '../timing.ts'
import type { Visit } from './browser.ts'
import type { Studio } from './studio.ts'
import { studioOf } from './studio.ts'
import { usePage } from './usePage.ts'

/** Gives the calling file a browser to open the playground of a service with. Without a Chromium each test is skipped. */
export function usePlaygroundWorld({ url, account: newAccount, simulator }: CalmService) {
  const testPage = usePage()
  return {
    get browser() {
      return testPage.browser
    },
    /** The upstream calls for a prompt, once there are `count`. */
    calls: (prompt: string, count = 0) => simulator.waitForCalls(count, { prompt }),
    /** Lets the next call for a prompt last until the function that it returns is called. */
    hold: async (prompt: string) => {
      await simulator.script({ prompt }, ['hold'])
      // The task is shown as processing a moment before the simulator holds its call.
      const release = async () => (await simulator.release({ prompt })) > 0 || undefined
      return () => until('a held call', release)
    },
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
