import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { defined } from '../../../src/domain/defined.ts'
import type { Client } from '../clients/client.ts'
import { createClient } from '../clients/client.ts'
import { freeStartPorts } from '../ports.ts'
import { spawnTestProcess } from '../service/testProcess.ts'

const runtimeFile = z.object({ environment: z.record(z.string(), z.string()) })

const script = fileURLToPath(new URL('../../../src/dev/main.ts', import.meta.url))

/** Where this machine keeps files in memory, so that PostgreSQL need not wait for a disk. */
export const memoryFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** The parts of a start, each with a text that only its own command line has. */
const parts = {
  postgres: '/bin/postgres\0',
  temporal: 'temporal-server\0',
  ui: 'temporal-ui\0',
  worker: '/src/worker.ts\0',
  api: '/src/api.ts\0',
  admin: '/src/admin.ts\0',
} as const

export type SpawnedStart = Awaited<ReturnType<typeof spawnStart>>

/** Returns the command line of what runs a shell command, such as a terminal. The shell is in npm's place. */
export type Wrap = (command: string) => readonly [file: string, ...args: string[]]

/**
 * Starts `src/dev/main.ts` on DATA_DIR, with free ports unless `environment` has others. What it prints goes to
 * the file `logPath`. With `wrap`, `signal` and `ended` are those of what runs it.
 */
export async function spawnStart(
  dataDir: string,
  logPath: string,
  environment: Readonly<Record<string, string>> = {},
  wrap?: Wrap,
) {
  const started = spawnTestProcess({
    script: 'src/dev/main.ts',
    args: ['--with', String(process.pid)],
    ...defined({ command: wrap?.(`"${process.execPath}" "${script}" --with $$`) }),
    environment: {
      ...(await freeStartPorts()),
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
      // Temporal takes more memory and less CPU.
      GOGC: '400',
      ...environment,
    },
    logPath,
  })
  const { output } = started
  const mainPid = () => {
    if (wrap === undefined) return started.pid
    const main = processesOn(dataDir).find((line) => line.includes(`\0${script}\0`))
    return Number(main?.split(' ')[0] ?? 0)
  }
  return {
    ...started,
    /** The process id of `src/dev/main.ts`, or 0 while there is none. */
    mainPid,
    /**
     * Waits until it is ready, and until Temporal is, unless told otherwise. Returns the environment that it gave its
     * processes. Throws with its output.
     */
    ready: async (limitMs: number, { withTemporal } = { withTemporal: true }) => {
      const lines = ['Darkroom is ready at', ...(withTemporal ? ['Temporal is ready'] : [])]
      await started.ready('npm start', limitMs, () => {
        if (withTemporal && output().includes('works without Temporal'))
          throw new Error('no Temporal')
        return lines.every((line) => output().includes(line))
      })
      const text = readFileSync(join(dataDir, 'runtime.json'), 'utf8')
      return runtimeFile.parse(JSON.parse(text)).environment
    },
    /** The process id of a part, or 0 while there is none. */
    partPid: (part: keyof typeof parts) => {
      const pid = mainPid()
      const children = readIfThere(`/proc/${pid}/task/${pid}/children`).trim().split(' ')
      const commandOf = (child: string) => readIfThere(`/proc/${child}/cmdline`)
      return Number(children.find((child) => commandOf(child).includes(parts[part])) ?? 0)
    },
  }
}

/** Returns a client of the demo account of the start on DATA_DIR, at the address of its API. */
export function demoClient(dataDir: string, url: string | undefined): Client {
  return createClient(url ?? '', readFileSync(join(dataDir, 'demo-key'), 'utf8').trim())
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

/** The content of a file, or nothing when there is none: the process of a file in /proc may have ended. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
