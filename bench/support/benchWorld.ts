import type { Client } from '../../test/support/clients/client.ts'
import { createClient } from '../../test/support/clients/client.ts'
import { simulatorFile } from '../../test/support/service/simulatorFile.ts'
import type { ServiceOptions, TestService } from '../../test/support/service/testService.ts'
import { startTestService } from '../../test/support/service/testService.ts'
import { createSimulatorClient } from '../../test/support/simulatorClient.ts'
import type { Shot } from './load.ts'
import { loadOf, shoot } from './load.ts'
import type { OtherAccount } from './otherAccounts.ts'
import { startScript } from './processes.ts'
import type { Bench } from './runBench.ts'
import { runBench } from './runBench.ts'

/** A running service with an account. Its upstream is a process of its own. */
export type BenchService = TestService & {
  readonly client: Client
  readonly headers: Readonly<Record<string, string>>
}

export type BenchOptions = ServiceOptions & {
  /** A call that takes an hour holds the only place of this family's channel, so its other tasks wait. */
  readonly held?: 'A' | 'B'
}

/** One part of `npm run bench`. */
export type BenchCase = {
  /** The name on the command line. */
  readonly name: string
  readonly title: string
  /** It takes minutes, and `--quick` leaves it out unless it is named. */
  readonly long?: true
  readonly run: (world: BenchWorld) => Promise<void>
}

export type BenchWorld = Bench & {
  readonly quick: boolean
  /** How many finished tasks the history has, when the command line says it. */
  readonly tasks?: number
  /** Starts a service on the constant upstream. The case stops it. */
  readonly startService: (options?: BenchOptions) => Promise<BenchService>
  /** The service that cases share, warm. The first call starts it. */
  readonly shared: () => Promise<BenchService>
}

const manyCredits = 1_000_000_000
/** V8 compiles for thousands of calls: after 1,000, the rate still rose by a fifth in half a minute. */
const warmUp = { quick: 200, full: 3_000 } as const
const hourMs = 3_600_000
const models = { A: 'familya-3-pro-image', B: 'familyb-image-2-vip' } as const
export const imageBytes = { small: 4 * 1024, large: 1024 * 1024 } as const

/** Runs cases on the constant upstream. */
export async function runCases(
  cases: readonly BenchCase[],
  quick: boolean,
  size: Pick<BenchWorld, 'tasks'> = {},
): Promise<void> {
  await runBench((bench) =>
    withWorld(bench, quick, async (world) => {
      for (const { name, title, run } of cases) {
        console.error(name)
        console.log(`\n${title}`)
        await run({ ...world, ...size })
      }
    }),
  )
}

/** Runs `work` with the constant upstream. */
export async function withWorld(
  bench: Bench,
  quick: boolean,
  work: (world: BenchWorld) => Promise<void>,
): Promise<void> {
  const upstream = await startScript('bench/support/constantUpstream.ts', [])
  const stops = [upstream.stop]
  const startService = (options: BenchOptions = {}) => {
    const channel = { concurrencyMax: 400, timeoutSeconds: 120, ...options.channel }
    return startBenchService(upstream.url, { ...options, channel })
  }
  const openShared = async (): Promise<BenchService> => {
    console.error('warming up')
    const service = await startService()
    stops.unshift(service.stop)
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

/** Starts a service whose channels lead to `upstreamUrl`. The caller must call `stop`. */
async function startBenchService(
  upstreamUrl: string,
  { held, ...options }: BenchOptions,
): Promise<BenchService> {
  const { channels } = simulatorFile(upstreamUrl, options.channel)
  const heldChannel = { concurrencyMax: 1, timeoutSeconds: hourMs / 1000 }
  const service = await startTestService({
    ...options,
    operatorFile: () => ({
      channels: channels.map((each) => (each.family === held ? { ...each, ...heldChannel } : each)),
    }),
    environment: { LOG_LEVEL: 'warn', ...options.environment },
  })
  const client = createClient(service.url, (await service.account(manyCredits)).secret)
  if (held !== undefined) {
    await client.accepted({ ...JSON.parse(taskBody({ latencyMs: hourMs })), model: models[held] })
  }
  const headers = { authorization: client.authorization, 'content-type': 'application/json' }
  return { ...service, client, headers }
}

export type SimulatedOptions = ServiceOptions & {
  /** The milliseconds that a call takes. Default 50. */
  readonly latency?: string
}

/** Runs `work` with a service whose upstream is a simulator in a process of its own. */
export async function withSimulated<Result>(
  { latency = '50', ...options }: SimulatedOptions,
  work: (service: BenchService) => Promise<Result>,
): Promise<Result> {
  const simulator = await startScript(
    'src/dev/simulator/simulator.ts',
    ['--tiny', '--latency', latency, '--port'],
    '/__simulator/calls?prompt=none',
  )
  const service = await startBenchService(simulator.url, options)
  try {
    return await work({ ...service, simulator: createSimulatorClient(simulator.url) })
  } finally {
    await service.stop()
    await simulator.stop()
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
