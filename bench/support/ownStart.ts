import { spawn, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { until } from '../../test/support/timing.ts'

const startMsMax = 180_000
const runtimeFile = z.object({ pid: z.number(), environment: z.record(z.string(), z.string()) })
const source = (path: string) => fileURLToPath(new URL(`../../src/${path}`, import.meta.url))

export type OwnStart = {
  /** What `npm start` gave its processes, the addresses among it. */
  readonly environment: Readonly<Record<string, string>>
  readonly url: string
  readonly key: string
  /** SIGKILL to the start, its children and theirs; says how many there were. */
  readonly killAll: () => Promise<number>
  /** Ctrl-C. */
  readonly stop: () => Promise<void>
}

/** `npm start` on a DATA_DIR and ports of its own; resolves when it is ready. */
export async function ownStart(
  dataDir: string,
  environment: Readonly<Record<string, string>>,
): Promise<OwnStart> {
  const anyPort = ['PORT', 'INTERNAL_PORT', 'WORKER_INTERNAL_PORT', 'SIMULATOR_PORT']
  const stackPort = ['POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT']
  const ports = Object.fromEntries([...anyPort, ...stackPort].map((name) => [name, '0']))
  const child = spawn(process.execPath, [source('dev.ts')], {
    env: { ...process.env, ...ports, DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  process.once('exit', () => child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const pid = child.pid ?? 0
  await until(
    'npm start ready',
    () => {
      if (child.exitCode !== null) throw new Error(said)
      return said.includes('Darkroom is ready at') ? true : undefined
    },
    startMsMax,
  )
  const runtime = await readFile(join(dataDir, 'runtime.json'), 'utf8')
  const { environment: given } = runtimeFile.parse(JSON.parse(runtime))
  return {
    environment: given,
    url: `http://127.0.0.1:${given['PORT'] ?? ''}`,
    key: (await readFile(join(dataDir, 'demo-key'), 'utf8')).trim(),
    killAll: async () => {
      const tree = processTree(pid)
      killAtOnce(tree)
      await ended
      return tree.length
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** The simulator as a process of its own, which outlives every kill; gives its address. */
export async function ownSimulator(latency: string) {
  const child = spawn(
    process.execPath,
    [source('dev/simulator/main.ts'), '--port', '0', '--latency', latency, '--tiny'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  process.once('exit', () => child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const url = await until('the simulator', () => /at (http:\S+)/.exec(said)?.[1])
  return { url, stop: () => child.kill('SIGTERM') }
}

/** The process and all that it started, and what those started, as they are now. */
export function processTree(root: number): readonly number[] {
  const listing = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
  const parents = listing
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const tree = [root]
  for (const pid of tree) {
    for (const [child = 0, parent = 0] of parents) if (parent === pid) tree.push(child)
  }
  return tree
}

/** As a power cut: nothing gets a chance to say goodbye. */
export function killAtOnce(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It was a child of one just killed, and quicker.
    }
  }
}
