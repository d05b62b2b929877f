import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Launch, Part as ChildPart } from '../../src/dev/child.ts'
import { startChild } from '../../src/dev/child.ts'
import type { Host } from './network.ts'
import { onHost } from './network.ts'

const squeezedBytes = 256 * 1024
const squeezeMs = 500
/** What was killed is back a second later. */
const pauseMsMax = 1_000

/** What runs on a host. It is started again whenever it ends. */
export type Part = {
  /** Signals every process of the host. */
  readonly signal: (name: NodeJS.Signals) => void
  /** Kills it, and starts it no more. */
  readonly end: () => Promise<void>
}

export async function startPart(
  part: Omit<ChildPart, 'name' | 'within' | 'log'> & {
    readonly host: Host
    readonly as?: readonly string[]
  },
  launch: Launch,
): Promise<Part> {
  const { host, as = [] } = part
  const children: Launch['children'] = []
  const within = [...onHost(host), ...limited(host, launch.dataDir), ...as]
  const env = { ...part.env, ...clockOf(host, launch.dataDir) }
  await startChild(
    { ...part, env, name: host, within, log: host, pauseMsMax },
    { ...launch, children },
  )
  const signal = (name: NodeJS.Signals) => signalHost(host, name)
  const end = async () => {
    signal('SIGKILL')
    await children[0]?.stop()
  }
  return { signal, end }
}

export function signalHost(host: Host, name: NodeJS.Signals, only = ''): void {
  const pids = execFileSync('ip', ['netns', 'pids', host], { encoding: 'utf8' }).split('\n')
  for (const pid of pids.filter(Boolean)) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(only))
        process.kill(Number(pid), name)
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Absent where libfaketime is not installed. */
const [clockLibrary] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')
export const canMoveClocks = clockLibrary !== undefined

/** Variables that let a host read by how much its clock is off from a file. Intervals stay right. */
function clockOf(host: Host, folder: string): Readonly<Record<string, string>> {
  if (clockLibrary === undefined) return {}
  setClock(host, folder, 0)
  return {
    LD_PRELOAD: clockLibrary,
    FAKETIME_TIMESTAMP_FILE: clockFile(host, folder),
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DISABLE_SHM: '1',
    DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  }
}

function clockFile(host: Host, folder: string): string {
  return join(folder, `clock-${host}`)
}

/** Sets how many seconds a host's clock is off. The host knows within a second. */
export function setClock(host: Host, folder: string, seconds: number): void {
  writeFileSync(clockFile(host, folder), `${seconds < 0 ? '' : '+'}${seconds}\n`)
}

const version1 = '/sys/fs/cgroup/memory'
const memory = existsSync(version1)
  ? { root: version1, limit: 'memory.limit_in_bytes', usage: 'memory.usage_in_bytes' }
  : { root: '/sys/fs/cgroup', limit: 'memory.max', usage: 'memory.current' }
const noLimitBytes = 2 ** 50

/** Removes the control groups of a run whose processes are gone. */
export function removeMemoryGroups(folder: string): void {
  for (const host of ['worker1', 'worker2', '']) {
    const group = memoryGroup(folder, host)
    if (existsSync(group)) rmdirSync(group)
  }
}

/** The control group of a host, or the one of all hosts of a run, which are named after its folder. */
function memoryGroup(folder: string, host = ''): string {
  return join(memory.root, basename(folder), host)
}

/** Words before a command that run it in the host's control group. There are none where the system has no such groups. */
function limited(host: Host, folder: string): readonly string[] {
  const group = memoryGroup(folder, host)
  if (!host.startsWith('worker')) return []
  try {
    mkdirSync(group, { recursive: true })
    setLimit(host, folder, noLimitBytes)
  } catch {
    return []
  }
  return ['sh', '-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', group]
}

export function canLimitMemory(folder: string): boolean {
  return existsSync(join(memoryGroup(folder, 'worker1'), memory.limit))
}

function setLimit(host: Host, folder: string, bytes: number): void {
  writeFileSync(join(memoryGroup(folder, host), memory.limit), String(bytes))
}

/** Leaves a host hardly more memory than it has, until the kernel kills it or the time is over. */
export async function squeeze(host: Host, folder: string, limitMs: number): Promise<void> {
  const used = () => Number(readFileSync(join(memoryGroup(folder, host), memory.usage), 'utf8'))
  const before = used()
  const endsAtMs = performance.now() + limitMs
  while (performance.now() < endsAtMs && used() > before / 2) {
    try {
      setLimit(host, folder, used() + squeezedBytes)
    } catch {
      // It took more meanwhile.
    }
    await sleep(squeezeMs)
  }
  setLimit(host, folder, noLimitBytes)
}
