import type { Pool } from 'pg'
import type { Family } from '../../domain/models/models.ts'
import { byFamily } from '../../domain/models/models.ts'
import type { DirectTask } from '../../domain/tasks/directRun.ts'
import { makeDue } from '../../store/tasks/dueTasks.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Recorders } from '../../telemetry/metrics.ts'
import type { ProduceImage, ProduceResult } from './produceImage.ts'

export type DirectRuns = ReturnType<typeof createDirectRuns>

type DirectRunsDeps = {
  readonly pool: Pool
  readonly log: Logger
  readonly metrics: Recorders
  readonly produceImage: ProduceImage
  /** Limit for the asynchronous tasks of each family that are carried out at the same time. */
  readonly slots: Readonly<Record<Family, number>>
  /** Aborts when the process is asked to stop. Calls that are under way finish. */
  readonly stopping: AbortSignal
}

/** Limit for the tasks that one worker carries out at the same time. Most of them stand in line. */
const runningMax = 10_000

/**
 * Creates the part of a worker that carries out tasks without Temporal: synchronous tasks, and while Temporal is away, all
 * tasks. It brings a task as far as `produceImage` can, and records its end. What must go on becomes due for the
 * reconciler.
 *
 * A synchronous task occupies no slot. It stands in line for a place to its deadline, and the places of the channels limit
 * its calls.
 */
export function createDirectRuns(deps: DirectRunsDeps) {
  const used = byFamily(() => 0)
  const running = new Map<string, Promise<void>>()
  const onUnexpected = (taskId: string, error: unknown) =>
    deps.log.error('task failed unexpectedly', { taskId, error })
  const free = (family: Family) => deps.slots[family] - used[family]

  async function carryOut({ taskId, family, model }: DirectTask): Promise<void> {
    let called = false
    const result = await deps
      .produceImage({
        taskId,
        via: 'direct',
        firstOf: { family, model },
        signal: deps.stopping,
        onStage: ({ stage }) => {
          called ||= stage !== 'waiting'
        },
      })
      .catch((error: unknown) => {
        onUnexpected(taskId, error)
        return { kind: 'error' } as const
      })
    deps.metrics.directRun(result.kind)
    const delayMs = delayOf(result, called)
    if (delayMs !== undefined) await makeDue(deps.pool, taskId, delayMs)
  }

  return {
    /** Returns how many more asynchronous tasks of a family this worker may carry out now. */
    free,
    /** Returns how many more tasks this worker may carry out now. */
    room: () => runningMax - running.size,
    /**
     * Carries out a task, unless it does so already. Returns false when the worker has no room or slot for the task, or
     * stops.
     */
    take: (task: DirectTask): boolean => {
      const { taskId, family, sync } = task
      if (running.has(taskId)) return true
      if (deps.stopping.aborted || running.size >= runningMax) return false
      if (!sync && free(family) <= 0) return false
      const slot = sync ? 0 : 1
      used[family] += slot
      const done = carryOut(task)
        .catch((error: unknown) => onUnexpected(taskId, error))
        .finally(() => {
          used[family] -= slot
          running.delete(taskId)
        })
      running.set(taskId, done)
      return true
    },
    /** Resolves when no task is being carried out. */
    idle: async (): Promise<void> => {
      while (running.size > 0) await Promise.all(running.values())
    },
  }
}

/**
 * Returns when the task must go on, or `undefined` when it has ended, another worker calls for it, or its next check is
 * planned already. After a call it is due at once, because from then on its workflow keeps the wait, or for a synchronous
 * task the line.
 */
function delayOf(
  result: ProduceResult | { readonly kind: 'error' },
  called: boolean,
): number | undefined {
  if (result.kind === 'wait' && result.reason !== 'call_under_way') {
    return called ? 0 : result.delayMs
  }
  return result.kind === 'error' && called ? 0 : undefined
}
