import type { Browser } from 'playwright-core'
import { beforeEach, expect } from 'vitest'
import type { SimulatorCall } from '../../../src/dev/simulator/calls.ts'
import type { CalmService } from '../service/calmService.ts'
import { calmService } from '../service/calmService.ts'
import { until } from '../timing.ts'
import { useOpened } from '../useOpened.ts'
import type { Visit } from './browser.ts'
import { launchChromium, noChromium, visit } from './browser.ts'
import type { Studio } from './studio.ts'
import { openStudio } from './studio.ts'

type Options = Parameters<typeof visit>[2] & {
  readonly account?: { readonly secret: string }
}

/** A whole service, and a browser to open its playground with. */
type PlaygroundWorld = {
  readonly service: CalmService
  readonly browser: Browser
  /** The upstream calls for a prompt, once there are `count`. Default 0: those that there are. */
  readonly calls: (prompt: string, count?: number) => Promise<readonly SimulatorCall[]>
  /** Lets the next call for a prompt last until the function that it returns is called. */
  readonly hold: (prompt: string) => Promise<() => Promise<unknown>>
  /**
   * Opens the playground for an account, by default a new one with 10,000 credits. At the end the console must
   * be empty, every request must have gone to the service, and the key must be in no address. A browser reports
   * each error status of the API in the console; only this report is allowed.
   */
  readonly inStudio: (
    work: (studio: Studio, opened: Visit, secret: string) => Promise<void>,
    options?: Options,
  ) => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Opens a `PlaygroundWorld` before the tests of the calling file, and stops it after them. Without a Chromium
 * nothing is started, and each test is skipped.
 */
export function usePlaygroundWorld(): Omit<PlaygroundWorld, 'stop'> {
  beforeEach((context) => {
    if (noChromium !== undefined) context.skip(noChromium)
  })
  return useOpened(
    async () => (noChromium === undefined ? openPlaygroundWorld() : undefined),
    ({ stop }) => stop(),
    ['service', 'browser', 'calls', 'hold', 'inStudio'],
  )
}

async function openPlaygroundWorld(): Promise<PlaygroundWorld> {
  const [service, browser] = await Promise.all([calmService(), launchChromium()])
  return {
    service,
    browser,
    calls: (prompt, count = 0) => service.simulator.waitForCalls(count, { prompt }),
    hold: async (prompt) => {
      await service.simulator.script({ prompt }, ['hold'])
      // The task is shown as processing a moment before the simulator holds its call.
      const release = async () => (await service.simulator.release({ prompt })) > 0 || undefined
      return () => until('a held call', release)
    },
    inStudio: async (work, { account, ...context } = {}) => {
      const { secret } = account ?? (await service.account(10_000))
      const opened = await visit(browser, service.url, context)
      try {
        await work(await openStudio(opened.page, secret), opened, secret)
        const { complaints, requests } = opened
        const ours = complaints.filter((text) => !text.includes('Failed to load resource'))
        expect(ours).toEqual([])
        const origins = requests.map((url) => new URL(url.replace(/^blob:/, '')).origin)
        expect([...new Set(origins)]).toEqual([service.url])
        expect(requests.filter((url) => url.includes(secret))).toEqual([])
        expect(await opened.page.evaluate('localStorage.length')).toBe(0)
      } finally {
        await opened.close()
      }
    },
    stop: () => browser.close(),
  }
}
