import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { freeStartPorts } from '../ports.ts'
import { until } from '../timing.ts'

const script = fileURLToPath(new URL('../../../src/dev/main.ts', import.meta.url))
const runtimeFile = z.object({ pid: z.number(), environment: z.record(z.string(), z.string()) })

/** Where this machine keeps files in memory, so that PostgreSQL need not wait for a disk. */
export const memoryFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** The parts of a start, each with a text that only its own command line has. */
const parts = {
  postgres: '/bin/postgres\0',
  temporal: 'temporal-server\0',
  ui: 'temporal-ui\0',
  worker: '/src/worker.ts\0',
  api: '/src/api.ts\0',
} as const

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
  /** The process id of the part with this text in its command line: see `parts`. 0 while there is none. */
  readonly partPid: (part: keyof typeof parts) => number
}

/** Starts `src/dev/main.ts` on DATA_DIR, with free ports unless `environment` has others. */
export async function spawnStart(
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<SpawnedStart> {
  const child = spawn(process.execPath, [script, '--with', String(process.pid)], {
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
    partPid: (part) => {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
      const found = children.find((each) => commandOf(each).includes(parts[part]))
      return Number(found ?? 0)
    },
  }
}

/**
 * Returns the command lines of all processes that work on DATA_DIR: by arguments, environment or working
 * folder.
 */
export function processesOn(dataDir: string): readonly string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8')
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8')
      const seen = [command, environment, readlinkSync(`/proc/${name}/cwd`)]
      return seen.some((text) => text.includes(dataDir)) ? [`${name} ${command}`] : []
    } catch {
      // It has ended meanwhile, or belongs to another user.
      return []
    }
  })
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
