import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts CPU time in hundredths of a second. */
const msPerTick = 10

type ProcessStat = { readonly parent: number; readonly ticks: number }

/**
 * Returns the CPU time in milliseconds that a process and its descendants have used so far, ended descendants
 * included. Linux only.
 */
export function cpuMs(root: number): number {
  const stats = new Map<number, ProcessStat>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = statOf(Number(name))
    if (stat !== undefined) stats.set(Number(name), stat)
  }
  const tree = [root]
  for (const pid of tree) {
    for (const [child, { parent }] of stats) if (parent === pid) tree.push(child)
  }
  return tree.reduce((sum, pid) => sum + (stats.get(pid)?.ticks ?? 0), 0) * msPerTick
}

function statOf(pid: number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain spaces. The fields after it begin with the state.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [, parent] = fields
    // utime, stime, and those of the children that have ended and were waited for.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return { parent: Number(parent), ticks }
  } catch {
    return undefined
  }
}
