import type { DarkroomProcess } from './testService.ts'

/** Sends a signal to the first of the processes, and takes it from the list. Returns what it ended with. */
export async function endFirst(
  processes: DarkroomProcess[],
  signal: 'SIGTERM' | 'SIGKILL',
): Promise<number | string> {
  const [process] = processes.splice(0, 1)
  if (process === undefined) throw new Error('no process is left')
  process.signal(signal)
  return process.ended
}
