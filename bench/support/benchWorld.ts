import { simulatorFile } from '../../test/support/service/simulatorFile.ts'
import type { ServiceOptions } from '../../test/support/service/testService.ts'
import type { BenchService } from './benchService.ts'
import { startBenchService } from './benchService.ts'
import type { Shot } from './load.ts'
import { loadOf, shoot } from './load.ts'
import type { OtherAccount } from './otherAccounts.ts'
import { startScript } from './processes.ts'
import type { Bench } from './runBench.ts'
import { say } from './runBench.ts'

export const imageBytes = { small: 4 * 1024, large: 1024 * 1024 } as const

/** What the cases of `npm run bench` get. */
export type BenchWorld = Bench & {
  readonly quick: boolean
  /**
   * Starts a service on the constant upstream. The case stops it. `held`: a call that takes an hour holds the
   * only place of this family's channel, so its other tasks wait.
   */
  readonly startService: (
    options?: ServiceOptions & { readonly held?: 'A' | 'B' },
  ) => Promise<BenchService>
  /** The service that cases share, warm. The first call starts it. */
  readonly shared: () => Promise<BenchService>
}

/** V8 compiles for thousands of calls: after 1,000, the rate still rose by a fifth in half a minute. */
const warmUp = { quick: 200, full: 3_000 } as const
const hourMs = 3_600_000
const models = { A: 'familya-3-pro-image', B: 'familyb-image-2-vip' } as const

/** Runs `work` with the constant upstream. */
export async function withWorld(
  bench: Bench,
  { quick, limits }: { readonly quick: boolean; readonly limits?: boolean },
  work: (world: BenchWorld) => Promise<void>,
): Promise<void> {
  const upstream = await startScript('bench/support/constantUpstream.ts', [])
  const stops = [upstream.stop]
  const startService: BenchWorld['startService'] = async ({ held, ...options } = {}) => {
    const channel = { concurrencyMax: 400, timeoutSeconds: 120, ...options.channel }
    const { channels } = simulatorFile(upstream.url, channel)
    const heldChannel = { concurrencyMax: 1, timeoutSeconds: hourMs / 1000 }
    const operatorFile = () => ({
      channels: channels.map((each) => (each.family === held ? { ...each, ...heldChannel } : each)),
    })
    const service = await startBenchService(upstream.url, { ...options, operatorFile })
    if (held === undefined) return service
    const body = { ...JSON.parse(taskBody({ latencyMs: hourMs })), model: models[held] }
    await service.client.accepted(body)
    return service
  }
  const openShared = async (): Promise<BenchService> => {
    say('warming up')
    const service = await startService()
    stops.unshift(service.stop)
    if (limits) {
      await service.pool.query(
        `update balance set requests_limit = 100000, requests_period = 'second', live_tasks_limit = 100000`,
      )
    }
    await loadOf(warmUp[quick ? 'quick' : 'full'], 20, generationShot(service))
    return service
  }
  let shared: Promise<BenchService> | undefined
  try {
    await work({ ...bench, quick, startService, shared: () => (shared ??= openShared()) })
  } finally {
    for (const stop of stops) await stop()
  }
}

export type Generation = { readonly bytes?: number; readonly latencyMs?: number }

/** The body of a synchronous generation. The constant upstream sends such an image after such a time. */
export function generationBody(given: Generation = {}): string {
  const { bytes = imageBytes.small, latencyMs = 0 } = given
  return JSON.stringify({
    model: models.B,
    prompt: `A lighthouse: ${bytes} bytes after ${latencyMs} ms`,
  })
}

/** The body of an asynchronous generation. */
export function taskBody(given: Generation = {}): string {
  return JSON.stringify({ ...JSON.parse(generationBody(given)), action: 'generate' })
}

/** Returns a shot that makes one synchronous generation. */
export function generationShot(
  { url, headers }: Pick<BenchService, 'url' | 'headers'>,
  given: Generation = {},
): Shot {
  const sent = { headers, body: generationBody(given) }
  return (agent) => shoot(agent, `${url}/v1/images/generations`, sent)
}

/** Lets other accounts send small requests until `stop`. */
export async function startOthers(accounts: readonly OtherAccount[]) {
  const { url, stop } = await startScript('bench/support/otherAccounts.ts', [
    JSON.stringify(accounts),
  ])
  /** Returns the milliseconds of each answer since the last report, by the name of the request. */
  const report = async (): Promise<Readonly<Record<string, readonly number[]>>> => {
    const answer: Record<string, number[]> = JSON.parse(await (await fetch(url)).text())
    return answer
  }
  return { report, stop }
}
