import { readFileSync, writeFileSync } from 'node:fs'

export const mebibyte = 1024 * 1024

/** Returns by how many bytes the resident memory of a process grew at most while `work` ran. Linux only. */
export async function peakGrowthBytes(pid: number, work: () => Promise<void>): Promise<number> {
  // The kernel forgets the peak, and records the next one.
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const before = residentBytes(pid, 'VmRSS')
  await work()
  return residentBytes(pid, 'VmHWM') - before
}

/** Returns the peak of the resident memory of a process since its start, in MiB. Linux only. */
export function peakMiB(pid: number): number {
  return residentBytes(pid, 'VmHWM') / mebibyte
}

/** Returns the resident memory of a process, in MiB. Linux only. */
export function residentMiB(pid: number): number {
  return residentBytes(pid, 'VmRSS') / mebibyte
}

function residentBytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
}
