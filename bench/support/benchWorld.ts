import { createClient } from '../../test/support/clients/client.ts'
import type { Client } from '../../test/support/clients/client.ts'
import { simulatorFile } from '../../test/support/service/simulatorFile.ts'
import type { TestAccount } from '../../test/support/service/testAccount.ts'
import type { ServiceOptions, TestService } from '../../test/support/service/testService.ts'
import { startTestService } from '../../test/support/service/testService.ts'
import type { FloorSettings } from './floorServer.ts'
import { loadOf, shoot } from './load.ts'
import type { Shot } from './load.ts'
import type { OtherAccount, OthersReport } from './otherAccounts.ts'
import type { Bench, StackPart } from './runBench.ts'
import type { Script } from './script.ts'
import { startScript } from './script.ts'

/** The sizes of image that most cases ask for. */
export const imageBytes = { small: 4 * 1024, large: 1024 * 1024 } as const
export type ImageSize = keyof typeof imageBytes

/** A running service whose channels lead to the constant upstream, with an account. */
export type BenchService = TestService & {
  readonly owner: TestAccount
  readonly client: Client
  readonly headers: Readonly<Record<string, string>>
  readonly parts: () => Readonly<Record<'api' | 'worker' | StackPart, number>>
}

/** The service that cases share, and what it is compared with. */
type Shared = { readonly service: BenchService; readonly floorUrl: string }

/** What the cases get. */
export type BenchWorld = Pick<Bench, 'pidOf'> & {
  readonly quick: boolean
  /** Says what takes long. */
  readonly say: (line: string) => void
  /** Starts a service. The case stops it. */
  readonly startService: (options?: BenchServiceOptions) => Promise<BenchService>
  /** The service that cases share, one API and one worker, warm. The first call starts it and the floor server. */
  readonly shared: () => Promise<Shared>
  readonly close: () => Promise<void>
}

export type BenchServiceOptions = ServiceOptions & {
  /** The family whose channel has one place. A call that takes an hour holds it, and its other tasks wait. */
  readonly held?: 'A' | 'B'
}

/** V8 compiles for thousands of calls: after 1,000 of them, the rate still rose by a fifth within half a minute. */
const warmUp = { quick: 200, full: 3_000 } as const
const hourMs = 3_600_000
const manyCredits = 1_000_000_000

/** Starts the constant upstream. */
export async function openBenchWorld(
  given: Pick<BenchWorld, 'quick' | 'say' | 'pidOf'>,
): Promise<BenchWorld> {
  const upstream = await startScript<{ readonly port: number }>('constantUpstream.ts')
  const upstreamUrl = `http://127.0.0.1:${upstream.told.port}`
  const closes = [upstream.stop]
  const startService = async (options: BenchServiceOptions = {}) => {
    const service = await startTestService({
      operatorFile: () => operatorFile(upstreamUrl, options),
      ...options,
      environment: { LOG_LEVEL: 'warn', ...options.environment },
    })
    const owner = await service.account(manyCredits)
    const client = createClient(service.url, owner.secret)
    const headers = { authorization: client.authorization, 'content-type': 'application/json' }
    const parts = () => ({
      api: service.apis[0]?.pid ?? 0,
      worker: service.workers[0]?.pid ?? 0,
      postgres: given.pidOf('postgres'),
      temporal: given.pidOf('temporal'),
    })
    if (options.held !== undefined) {
      await client.accepted(taskBody({ ...modelOf[options.held], latencyMs: hourMs }))
    }
    return { ...service, owner, client, headers, parts }
  }
  const openShared = async (): Promise<Shared> => {
    given.say('warming up')
    const service = await startService()
    const { settings } = service.temporal
    const floor = await startScript<{ readonly port: number }>(
      'floorServer.ts',
      JSON.stringify({
        databaseUrl: service.databaseUrl,
        temporalAddress: settings.address,
        namespace: settings.namespace,
        upstreamUrl,
        fileBytes: imageBytes.large,
      } satisfies FloorSettings),
    )
    closes.unshift(floor.stop, service.stop)
    const floorUrl = `http://127.0.0.1:${floor.told.port}`
    const calls = warmUp[given.quick ? 'quick' : 'full']
    await loadOf(calls, 20, generationShot(service))
    await loadOf(calls, 20, forwardedShot(floorUrl))
    return { service, floorUrl }
  }
  let shared: Promise<Shared> | undefined
  return {
    ...given,
    startService,
    shared: () => {
      shared ??= openShared()
      return shared
    },
    close: async () => {
      for (const close of closes) await close()
    },
  }
}

function operatorFile(upstreamUrl: string, { held, channel }: BenchServiceOptions) {
  const limits = { concurrencyMax: 400, timeoutSeconds: 120, ...channel }
  const { channels } = simulatorFile(upstreamUrl, limits)
  const heldLimits = { concurrencyMax: 1, timeoutSeconds: hourMs / 1000 }
  return {
    channels: channels.map((each) => ({ ...each, ...(each.family === held ? heldLimits : {}) })),
  }
}

const modelOf = {
  A: { model: 'familya-3-pro-image' },
  B: { model: 'familyb-image-2-vip' },
} as const

type Generation = { readonly model?: string; readonly bytes?: number; readonly latencyMs?: number }

/** The body of a synchronous generation, for which the constant upstream sends such an image after such a time. */
export function generationBody(given: Generation = {}): string {
  const { model = modelOf.B.model, bytes = imageBytes.small, latencyMs = 0 } = given
  return JSON.stringify({ model, prompt: `A lighthouse: ${bytes} bytes after ${latencyMs} ms` })
}

/** The body of an asynchronous generation. */
export function taskBody(given: Generation = {}): string {
  return JSON.stringify({ ...JSON.parse(generationBody(given)), action: 'generate' })
}

export const generationPath = '/v1/images/generations'

/** Returns a shot that makes one synchronous generation. */
export function generationShot(
  { url, headers }: Pick<BenchService, 'url' | 'headers'>,
  given: Generation = {},
): Shot {
  const sent = { method: 'POST', headers, body: generationBody(given) } as const
  return (agent) => shoot(agent, url + generationPath, sent)
}

/** Returns a shot that makes the same call through the forwarder. */
export function forwardedShot(floorUrl: string): Shot {
  const sent = { method: 'POST', body: generationBody() } as const
  return (agent) => shoot(agent, `${floorUrl}/forward`, sent)
}

/** Lets other accounts send small requests until `stop`. `report` tells of the time since the last report. */
export async function startOthers(accounts: readonly OtherAccount[]) {
  const script: Script<string> = await startScript('otherAccounts.ts', JSON.stringify(accounts))
  return { report: () => script.ask<OthersReport>(), stop: script.stop }
}
