import type { Pool } from 'pg'
import type { Family } from '../domain/models/models.ts'
import type { DirectTask } from '../domain/tasks/directRun.ts'
import { makeDue } from '../store/reconcile/claims.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Recorders } from '../telemetry/metrics.ts'
import type { ProduceImage } from './produceImage.ts'
import type { Stage } from './takeStep.ts'

export type DirectRuns = ReturnType<typeof createDirectRuns>

type DirectRunsDeps = {
  readonly pool: Pool
  readonly log: Logger
  readonly metrics: Recorders
  readonly produceImage: ProduceImage
  /** Limit for the tasks of each family that are carried out at the same time. */
  readonly slots: Readonly<Record<Family, number>>
  /** Aborts when the process is asked to stop. Calls that are under way finish. */
  readonly stopping: AbortSignal
}

const justTakenMs = 10_000

/**
 * Creates the part of a worker that carries out tasks without Temporal: the first call of synchronous tasks, and while
 * Temporal is away, all tasks. It brings a task as far as `produceImage` can, and records its end. What must go on
 * becomes due for the reconciler, which starts its workflow.
 */
export function createDirectRuns(deps: DirectRunsDeps) {
  const used = { A: 0, B: 0 }
  const running = new Map<string, { readonly done: Promise<void>; readonly takenAtMs: number }>()
  const onUnexpected = (taskId: string, error: unknown) =>
    deps.log.error('task failed unexpectedly', { taskId, error })
  const free = (family: Family) => deps.slots[family] - used[family]

  async function carryOut({ taskId, family }: DirectTask, slotFrom: 'now' | 'call'): Promise<void> {
    let held = 0
    let called = false
    const hold = () => {
      used[family] += 1 - held
      held = 1
    }
    if (slotFrom === 'now') hold()
    const onStage = ({ stage }: Stage) => {
      if (stage === 'waiting') return
      called = true
      hold()
    }
    const takesNoSlot = slotFrom === 'call'
    const task = {
      taskId,
      via: 'offer',
      firstOf: family,
      signal: deps.stopping,
      onStage,
      takesNoSlot,
    } as const
    const result = await deps.produceImage(task).catch((error: unknown) => {
      onUnexpected(taskId, error)
      return { kind: 'error' } as const
    })
    used[family] -= held
    deps.metrics.offer(result.kind)
    // The next check is planned already, after a pause that doubles.
    if (called && (result.kind === 'wait' || result.kind === 'error'))
      await makeDue(deps.pool, taskId)
    else if (!takesNoSlot && result.kind === 'wait') {
      await makeDue(deps.pool, taskId, result.delayMs)
    }
  }

  function start(task: DirectTask, slotFrom: 'now' | 'call'): void {
    // While a task waits for a place here, the reconciler claims it again from time to time.
    if (running.has(task.taskId)) return
    const done = carryOut(task, slotFrom)
      .catch((error: unknown) => onUnexpected(task.taskId, error))
      .finally(() => running.delete(task.taskId))
    running.set(task.taskId, { done, takenAtMs: performance.now() })
  }

  return {
    /** Returns how many more tasks of a family this worker may carry out now. */
    free,
    /**
     * Returns whether this worker took the task less than ten seconds ago and still carries it out. When thousands
     * arrive at once, their calls wait that long for connections to PostgreSQL.
     */
    hasJustTaken: (taskId: string) => {
      const takenAtMs = running.get(taskId)?.takenAtMs
      return takenAtMs !== undefined && performance.now() - takenAtMs < justTakenMs
    },
    /**
     * Takes a synchronous task of which every worker has heard, if a slot of its family is free. The task occupies the
     * slot from its call on, so that a task that waits for a place occupies none.
     */
    take: (task: DirectTask): void => {
      if (deps.stopping.aborted) return
      if (free(task.family) > 0) start(task, 'call')
      else deps.metrics.offer('no_slot')
    },
    /** Carries out a task that this worker alone has claimed. It occupies a slot from now on. */
    run: (task: DirectTask): void => start(task, 'now'),
    /** Resolves when no task is being carried out. */
    idle: async (): Promise<void> => {
      while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}
