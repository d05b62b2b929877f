import { assertNever } from '../domain/assertNever.ts'
import type { Family } from '../domain/models/models.ts'
import type { DirectResult, DirectTask } from '../domain/tasks/directRun.ts'
import type { createProduceImage } from './produceImage.ts'
import type { ProduceInput } from './takeStep.ts'

export type DirectRuns = {
  /** Returns how many more tasks of a family this worker may carry out now. */
  readonly free: (family: Family) => number
  /**
   * Takes a synchronous task of which every worker has heard, if a slot of its family is free. The task occupies the
   * slot from its call on, so that a task that waits for a place occupies none.
   */
  readonly take: (task: DirectTask) => void
  /** Carries out a task that this worker alone has claimed. It occupies a slot from now on, also in line. */
  readonly run: (task: DirectTask) => void
  /** Resolves when no task is being carried out. */
  readonly idle: () => Promise<void>
}

type DirectRunsDeps = {
  readonly produceImage: ReturnType<typeof createProduceImage>
  /** Makes a live task due for the reconciler at once. */
  readonly makeDue: (taskId: string) => Promise<void>
  /** Limit for the tasks of each family that are carried out at the same time. */
  readonly slots: Readonly<Record<Family, number>>
  /** Aborts when the process is asked to stop. Calls that are under way finish. */
  readonly stopping: AbortSignal
  readonly onResult: (result: DirectResult) => void
  readonly onUnexpected: (taskId: string, error: unknown) => void
}

/**
 * Creates the part of a worker that carries out tasks without Temporal: the first call of synchronous tasks, and while
 * Temporal is away, all tasks. It brings a task as far as `produceImage` can, and records its end. What must go on
 * becomes due for the reconciler, which starts its workflow.
 */
export function createDirectRuns(deps: DirectRunsDeps): DirectRuns {
  const used = { A: 0, B: 0 }
  const running = new Map<string, Promise<void>>()
  const free = (family: Family) => deps.slots[family] - used[family]

  async function carryOut({ taskId, family }: DirectTask, hasSlot: boolean): Promise<void> {
    let held = 0
    let called = false
    const hold = () => {
      used[family] += 1 - held
      held = 1
    }
    if (hasSlot) hold()
    const onStage = () => {
      called = true
      hold()
    }
    const result = await bringOn(deps, { taskId, onStage, hasSlot }).catch((error: unknown) => {
      deps.onUnexpected(taskId, error)
      return 'error' as const
    })
    used[family] -= held
    deps.onResult(result)
    // The next check of a task that this worker has not called for is planned already.
    if (called && goesOn(result)) await deps.makeDue(taskId)
  }

  function start(task: DirectTask, hasSlot: boolean): void {
    // While a task waits for a place here, the reconciler claims it again from time to time.
    if (running.has(task.taskId)) return
    const one = carryOut(task, hasSlot)
      .catch((error: unknown) => deps.onUnexpected(task.taskId, error))
      .finally(() => running.delete(task.taskId))
    running.set(task.taskId, one)
  }

  return {
    free,
    take: (task) => {
      if (deps.stopping.aborted) return
      if (free(task.family) > 0) start(task, false)
      else deps.onResult('no_slot')
    },
    run: (task) => start(task, true),
    idle: async () => {
      while (running.size > 0) await Promise.all(running.values())
    },
  }
}

/** Brings the task as far as possible now. Returns the end, or why the task is not at its end. */
async function bringOn(deps: DirectRunsDeps, input: ProduceInput): Promise<DirectResult> {
  const { produceImage, stopping: signal } = deps
  const result = await produceImage({ ...input, signal, via: 'offer' })
  switch (result.kind) {
    case 'succeeded':
    case 'failed':
    case 'over':
      return result.kind
    case 'wait':
      if (signal.aborted) return 'stopping'
      return result.reason === 'call_under_way' ? 'call_under_way' : 'wait'
    default:
      return assertNever(result)
  }
}

function goesOn(result: DirectResult): boolean {
  return result !== 'succeeded' && result !== 'failed' && result !== 'over'
}
