import { spawn, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { freeStartPorts } from '../../test/support/ports.ts'
import { until } from '../../test/support/timing.ts'

const startMsMax = 180_000
const runtimeFile = z.object({ pid: z.number(), environment: z.record(z.string(), z.string()) })

export type OwnStart = {
  /** The environment that `npm start` gave its processes. */
  readonly environment: Readonly<Record<string, string>>
  readonly url: string
  readonly key: string
  /** Sends SIGKILL to the start and all its descendants at once. Returns how many processes there were. */
  readonly killAll: () => Promise<number>
  /** Sends SIGTERM and waits until the start has ended. */
  readonly stop: () => Promise<void>
}

/** Runs `npm start` on the given DATA_DIR and free ports. Resolves when it is ready. */
export async function ownStart(
  dataDir: string,
  environment: Readonly<Record<string, string>>,
): Promise<OwnStart> {
  const ports = await freeStartPorts()
  const child = spawn(process.execPath, [sourcePath('dev/main.ts')], {
    env: { ...process.env, ...ports, DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  process.once('exit', () => child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  const pid = child.pid ?? 0
  await until(
    'npm start ready',
    () => {
      if (child.exitCode !== null) throw new Error(printed)
      return printed.includes('Darkroom is ready at') ? true : undefined
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

/** Runs the simulator as a separate process, which `killAll` does not end. */
export async function ownSimulator(latency: string) {
  const child = spawn(
    process.execPath,
    [sourcePath('dev/simulator/main.ts'), '--port', '0', '--latency', latency, '--tiny'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  process.once('exit', () => child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  const url = await until('the simulator', () => /at (http:\S+)/.exec(printed)?.[1])
  return { url, stop: () => child.kill('SIGTERM') }
}

/** Returns the process ids of a process and all its current descendants. */
function processTree(root: number): readonly number[] {
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

/** Kills all processes, as a power cut does: none of them can clean up. */
function killAtOnce(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process ended because its parent was just killed.
    }
  }
}

function sourcePath(path: string): string {
  return fileURLToPath(new URL(`../../src/${path}`, import.meta.url))
}
