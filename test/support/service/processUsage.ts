import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

export const mebibyte = 1024 * 1024
const sampleMs = 50

/**
 * Returns by how many bytes the resident memory of a process grew at most while `work` ran. On Linux the
 * kernel records the peak after a reset of /proc/PID/clear_refs. Elsewhere `ps` is sampled.
 */
export async function peakGrowthBytes(pid: number, work: () => Promise<void>): Promise<number> {
  const kernel = kernelPeak(pid)
  const before = kernel?.resident() ?? sampled(pid)
  let peak = before
  const timer = setInterval(() => {
    if (kernel === undefined) peak = Math.max(peak, sampled(pid))
  }, sampleMs)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return Math.max(peak, kernel?.peak() ?? 0) - before
}

function kernelPeak(pid: number) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    return undefined
  }
  const read = (field: string) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
  }
  return { resident: () => read('VmRSS'), peak: () => read('VmHWM') }
}

/** Returns the peak of the resident memory of a process since its start, in MiB. Linux only. */
export function peakMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
}

function sampled(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024
}
