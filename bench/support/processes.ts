import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../test/support/ports.ts'
import { startTestProcess } from '../../test/support/service/testProcess.ts'

/** Linux counts CPU time in hundredths of a second. */
const msPerTick = 10

/** One process, as /proc describes it. Linux only. */
type ProcessStat = {
  readonly pid: number
  readonly parent: number
  /** The CPU time that it and its children that have ended have used, in milliseconds. */
  readonly cpuMs: number
}

/** Returns a process and all its descendants, parents before their children. */
export function processTree(root: number): readonly ProcessStat[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? statOf(name) : []))
  const tree = all.filter(({ pid }) => pid === root)
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid))
  return tree
}

function statOf(pid: string): readonly ProcessStat[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may contain spaces. The fields after it begin with the state.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    // utime, stime, and those of the children that have ended and were waited for.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return [{ pid: Number(pid), parent: Number(fields[1]), cpuMs: ticks * msPerTick }]
  } catch {
    return []
  }
}

/** Returns the CPU time in milliseconds of processes and of all their descendants. */
export function cpuMs(roots: readonly number[]): number {
  return roots.flatMap(processTree).reduce((sum, stat) => sum + stat.cpuMs, 0)
}

/** Sends a signal to a process, which may have ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

/** Runs a script that serves HTTP as a process of its own, with a free port as its last argument. */
export async function startScript(script: string, args: readonly string[], readyPath = '/') {
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-script-'))
  const { stop } = await startTestProcess({
    name: script,
    script,
    args: [...args, port],
    environment: { TMPDIR: folder },
    logPath: join(folder, 'log'),
    readyUrl: url + readyPath,
  })
  return { url, stop: () => stop().then(() => rm(folder, { recursive: true })) }
}
