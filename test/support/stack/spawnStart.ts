import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { freeStartPorts } from '../ports.ts'
import { until } from '../timing.ts'

const script = fileURLToPath(new URL('../../../src/dev/main.ts', import.meta.url))
const runtimeFile = z.object({ pid: z.number(), environment: z.record(z.string(), z.string()) })

/** One process of `src/dev/main.ts`. */
export type SpawnedStart = {
  readonly pid: number
  readonly dataDir: string
  readonly printed: () => string
  /** Resolves to the exit code, or to the name of the signal that ended it. */
  readonly ended: Promise<number | string>
  readonly signal: (name: NodeJS.Signals) => void
  /** Waits until it is ready. Returns the environment that it gave its processes. Throws with its output. */
  readonly ready: (limitMs: number) => Promise<Readonly<Record<string, string>>>
  /** The process ids of its parts, in the order of their start: PostgreSQL, Temporal, its UI, worker, API. */
  readonly partPids: () => readonly number[]
}

/** Starts `src/dev/main.ts` on DATA_DIR, with free ports unless `environment` has others. */
export async function spawnStart(
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<SpawnedStart> {
  const child = spawn(process.execPath, [script], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'],
      ...(await freeStartPorts()),
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  const keep = (chunk: Buffer): void => void (printed += chunk.toString())
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  let hasEnded = false
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => {
      hasEnded = true
      resolve(signal ?? code ?? 0)
    })
  })
  const pid = child.pid ?? 0
  return {
    pid,
    dataDir,
    printed: () => printed,
    ended,
    signal: (name) => void child.kill(name),
    ready: async (limitMs) => {
      await until(
        'a ready start',
        () => {
          if (hasEnded) throw new Error(printed)
          return printed.includes('Darkroom is ready at') || undefined
        },
        limitMs,
      )
      const text = readFileSync(join(dataDir, 'runtime.json'), 'utf8')
      return runtimeFile.parse(JSON.parse(text)).environment
    },
    partPids: () => {
      const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      return text.trim().split(' ').map(Number)
    },
  }
}
