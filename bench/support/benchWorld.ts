import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { bareTaskQueue, startBareTemporal } from './bareTemporal.ts'
import type { FloorSettings } from './floorServer.ts'
import type { Stack } from './runBench.ts'
import { paddedPng } from '../../test/support/images.ts'
import type { ServiceOptions, TestService } from '../../test/support/service/testService.ts'
import type { TestAccount } from '../../test/support/service/testAccount.ts'
import { startTestService } from '../../test/support/service/testService.ts'

/** The sizes of image that the constant upstream serves. */
export const imageBytes = { small: 4 * 1024, large: 1024 * 1024 } as const
export type ImageSize = keyof typeof imageBytes

/** The body of a generation for which the constant upstream sends an image of this size after this time. */
export function generationBody(image: ImageSize, latencyMs = 0): string {
  const prompt = `A lighthouse: ${imageBytes[image]} bytes after ${latencyMs} ms`
  return JSON.stringify({ model: 'familyb-image-2-vip', prompt })
}

/** A running service with an account, and the process ids of all its parts. */
export type BenchService = TestService & {
  readonly owner: TestAccount
  readonly headers: Readonly<Record<string, string>>
  readonly parts: () => Readonly<
    Record<'api' | 'worker' | 'postgres' | 'temporal', readonly number[]>
  >
}

/** What the cases share. */
export type BenchWorld = {
  readonly quick: boolean
  readonly stack: Stack
  /** Says what takes long. */
  readonly say: (line: string) => void
  /** The service that the cases share: one API and one worker. */
  readonly service: BenchService
  /** Starts another service. The case stops it. */
  readonly startService: (options: ServiceOptions) => Promise<BenchService>
  /** Base URL of the floor server. */
  readonly floorUrl: string
  readonly bare: Awaited<ReturnType<typeof startBareTemporal>>
  readonly close: () => Promise<void>
}

const address = z.object({ port: z.number() })

/** Starts the constant upstream, the floors and one service. */
export async function openBenchWorld(options: {
  readonly stack: Stack
  readonly quick: boolean
  readonly say: (line: string) => void
}): Promise<BenchWorld> {
  const { stack, quick, say } = options
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-images-'))
  for (const bytes of Object.values(imageBytes)) {
    await writeFile(join(folder, `${bytes}.png`), paddedPng(bytes, 7))
  }
  const upstream = await startScript('constantUpstream.ts', folder)
  const start = (given: ServiceOptions) => startService(stack, upstream.url, given)
  const service = await start({})
  const { temporal, settings } = service.temporal
  const bare = await startBareTemporal(temporal, settings.address)
  const floor = await startScript(
    'floorServer.ts',
    JSON.stringify({
      databaseUrl: service.databaseUrl,
      temporalAddress: settings.address,
      namespace: settings.namespace,
      taskQueue: bareTaskQueue,
      upstreamUrl: upstream.url,
      imageFile: join(folder, `${imageBytes.large}.png`),
    } satisfies FloorSettings),
  )
  return {
    quick,
    stack,
    say,
    service,
    startService: start,
    floorUrl: floor.url,
    bare,
    close: async () => {
      await bare.stop()
      await floor.stop()
      await service.stop()
      await upstream.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startService(
  stack: Stack,
  upstreamUrl: string,
  options: ServiceOptions,
): Promise<BenchService> {
  const limits = { concurrencyMax: 400, timeoutSeconds: 120 }
  const service = await startTestService({
    operatorFile: () => ({
      channels: [
        {
          name: 'a-main',
          family: 'A',
          baseUrl: upstreamUrl,
          apiKeyEnv: 'FAMILYA_API_KEY',
          ...limits,
        },
        {
          name: 'b-main',
          family: 'B',
          baseUrl: `${upstreamUrl}/v1`,
          apiKeyEnv: 'FAMILYB_API_KEY',
          ...limits,
        },
      ],
    }),
    ...options,
    environment: { LOG_LEVEL: 'warn', ...options.environment },
  })
  const owner = await service.account(1_000_000_000)
  return {
    ...service,
    owner,
    headers: { authorization: `Bearer ${owner.secret}`, 'content-type': 'application/json' },
    parts: () => {
      const [postgres = 0, temporal = 0] = stack.pids()
      return {
        api: service.apis.map(({ pid }) => pid),
        worker: service.workers.map(({ pid }) => pid),
        postgres: [postgres],
        temporal: [temporal],
      }
    },
  }
}

/** Runs a script of this folder that listens, as a process that ends with this one. */
async function startScript(name: string, ...args: readonly string[]) {
  const script = fileURLToPath(new URL(name, import.meta.url))
  const child: ChildProcess = fork(script, args, { stdio: 'inherit' })
  const [message]: readonly unknown[] = await once(child, 'message')
  return {
    url: `http://127.0.0.1:${address.parse(message).port}`,
    stop: async () => {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}
