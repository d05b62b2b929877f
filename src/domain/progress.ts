import type { TaskView } from './taskState.ts'

/** Until the image is there, however long it takes: 100 says that it is. */
const progressMax = 95

/** Share of the way that the usual duration covers: 1 - e^-1.6, about 80 of 100. */
const steepness = 1.6

type Timed = Pick<TaskView, 'status' | 'nowMs' | 'processingAtMs'>

/**
 * Design section 4, Progress: 0 queued, then by elapsed time against the model's usual duration, 100 on
 * success only. It depends on the row and its clock alone and grows with time, so no poll sees it fall;
 * what the workflow adds comes and goes (Temporal down, a worker lost) and could not promise that.
 */
export function progressOf(task: Timed, usualDurationMs: number): number {
  if (task.status === 'succeeded') return 100
  if (task.status === 'queued' || task.processingAtMs === undefined) return 0
  // A poll during the end's commit may have seen a later clock than the end did: no time is late enough.
  if (task.status === 'failed') return progressMax
  const elapsed = Math.max(0, task.nowMs - task.processingAtMs) / usualDurationMs
  const covered = 1 - Math.exp(-steepness * elapsed)
  return Math.min(progressMax, 1 + Math.floor(progressMax * covered))
}
