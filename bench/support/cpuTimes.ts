import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts CPU time in hundredths of a second. */
const ticksPerSecond = 100

/** CPU seconds so far, by the name of the program or of the thread. */
export type CpuTimes = ReadonlyMap<string, number>

/**
 * Returns the CPU time of this process and of its descendants. Programs of one name count together, so all
 * processes of PostgreSQL are one. `names` gives some processes names of their own; of these the main thread
 * also counts alone, because a process of Node answers everybody in that thread. Linux only.
 */
export function readCpuTimes(names: ReadonlyMap<number, string>): CpuTimes {
  const stats = new Map<number, Stat>()
  for (const entry of readdirSync('/proc')) {
    const stat = /^\d+$/.test(entry) ? readStat(`/proc/${entry}/stat`) : undefined
    if (stat !== undefined) stats.set(Number(entry), stat)
  }
  const times = new Map<string, number>()
  const add = (name: string, seconds: number) => times.set(name, (times.get(name) ?? 0) + seconds)
  const tree = [process.pid]
  for (const pid of tree) {
    const stat = stats.get(pid)
    if (stat === undefined) continue
    const name = names.get(pid)
    const isSelf = pid === process.pid
    // The programs that this process has started and that have ended are no longer of interest.
    add(isSelf ? 'clients and upstream' : (name ?? stat.program), isSelf ? stat.own : stat.all)
    const main = name === undefined ? undefined : readStat(`/proc/${pid}/task/${pid}/stat`)
    if (main !== undefined) add(`${name}'s main thread`, main.own)
    for (const [child, { parent }] of stats) if (parent === pid) tree.push(child)
  }
  return times
}

/** Describes in one line how much CPU time was used between two readings. Leaves out what used next to none. */
export function describeCpu(before: CpuTimes, after: CpuTimes): string {
  return [...after]
    .map(([name, seconds]) => ({ name, used: seconds - (before.get(name) ?? 0) }))
    .filter(({ used }) => used >= 0.05)
    .map(({ name, used }) => `${name} ${used.toFixed(2)} s`)
    .join(', ')
}

type Stat = {
  readonly program: string
  readonly parent: number
  readonly own: number
  /** With the descendants that have ended. */
  readonly all: number
}

function readStat(file: string): Stat | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    // The name in parentheses may contain spaces. The fields after it begin with the state.
    const nameEnd = text.lastIndexOf(')')
    const fields = text.slice(nameEnd + 2).split(' ')
    const seconds = (from: number, to: number) =>
      fields.slice(from, to).reduce((sum, field) => sum + Number(field), 0) / ticksPerSecond
    const program = text.slice(text.indexOf('(') + 1, nameEnd)
    return { program, parent: Number(fields[1]), own: seconds(11, 13), all: seconds(11, 15) }
  } catch {
    return undefined
  }
}
