import type { SimulatorCall } from '../../../src/dev/simulator/calls.ts'
import type { CalmService } from '../service/calmService.ts'
import { until } from '../timing.ts'
import type { Visit } from './browser.ts'
import type { Studio } from './studio.ts'
import { studioOf } from './studio.ts'
import type { TestPage } from './usePage.ts'
import { usePage } from './usePage.ts'

/** A browser to open the playground of a service with. */
type PlaygroundWorld = Pick<TestPage, 'browser'> & {
  /** The upstream calls for a prompt, once there are `count`. Default 0: those that there are. */
  readonly calls: (prompt: string, count?: number) => Promise<readonly SimulatorCall[]>
  /** Lets the next call for a prompt last until the function that it returns is called. */
  readonly hold: (prompt: string) => Promise<() => Promise<unknown>>
  /**
   * Opens the playground for an account, by default a new one with 10,000 credits. What must hold at the end is at
   * `TestPage`.
   */
  readonly inStudio: (
    work: (studio: Studio, opened: Visit) => Promise<void>,
    account?: { readonly secret: string },
  ) => Promise<void>
}

/** Opens a `PlaygroundWorld` before the tests of the calling file. Without a Chromium each test is skipped. */
export function usePlaygroundWorld({
  url,
  account: newAccount,
  simulator,
}: CalmService): PlaygroundWorld {
  const testPage = usePage()
  return {
    get browser() {
      return testPage.browser
    },
    calls: (prompt, count = 0) => simulator.waitForCalls(count, { prompt }),
    hold: async (prompt) => {
      await simulator.script({ prompt }, ['hold'])
      // The task is shown as processing a moment before the simulator holds its call.
      const release = async () => (await simulator.release({ prompt })) > 0 || undefined
      return () => until('a held call', release)
    },
    inStudio: async (work, account) => {
      const { secret } = account ?? (await newAccount(10_000))
      await testPage.signedIn(url, secret, async (visited) => {
        await work(await studioOf(visited.page), visited)
      })
    },
  }
}
