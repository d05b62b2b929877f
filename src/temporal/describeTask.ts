import { workflowIdOf } from '../domain/ids.ts'
import type { LiveStatus } from '../domain/taskState.ts'
import type { Temporal } from './connect.ts'
import { liveStatus } from './liveStatus.ts'

export type DescribeTask = (taskId: string) => Promise<LiveStatus | undefined>

/** Design 1.15: a poll must not wait for Temporal, nor a thousand polls flood it. */
const limits = { timeoutMs: 250, parallel: 32, cachedMs: 1_000, cachedMax: 2_000 } as const

type Known = { readonly live: Promise<LiveStatus | undefined>; readonly untilMs: number }

/**
 * What the workflow knows of a task in flight; `undefined` whenever Temporal cannot tell at once. One
 * question per task at a time, its answer good for a second. `nowMs` is monotonic.
 */
export function createDescribeTask(deps: {
  readonly temporal: Temporal
  readonly nowMs: () => number
}): DescribeTask {
  const known = new Map<string, Known>()
  let underWay = 0

  async function ask(taskId: string): Promise<LiveStatus | undefined> {
    underWay += 1
    try {
      const { client, within } = deps.temporal
      const handle = client.workflow.getHandle(workflowIdOf(taskId))
      const { raw } = await within(limits.timeoutMs, () => handle.describe())
      return liveStatus(raw.pendingActivities)
    } catch {
      // Unreachable, slow or unknown to Temporal: the row alone answers.
      return undefined
    } finally {
      underWay -= 1
    }
  }

  return (taskId) => {
    const nowMs = deps.nowMs()
    const present = known.get(taskId)
    if (present !== undefined && nowMs < present.untilMs) return present.live
    if (underWay >= limits.parallel) return Promise.resolve(undefined)
    const live = ask(taskId)
    known.delete(taskId)
    known.set(taskId, { live, untilMs: nowMs + limits.cachedMs })
    forgetOldest(known)
    return live
  }
}

/** A map keeps insertion order, so its first keys are the oldest answers. */
function forgetOldest(known: Map<string, Known>): void {
  for (const taskId of known.keys()) {
    if (known.size <= limits.cachedMax) return
    known.delete(taskId)
  }
}
