import { assertNever } from '../domain/assertNever.ts'
import type { Family } from '../domain/models/models.ts'
import type { Offer, OfferResult } from '../domain/tasks/offer.ts'
import type { createProduceImage } from './produceImage.ts'

export type TakeOffersDeps = {
  readonly produceImage: ReturnType<typeof createProduceImage>
  /** Starts the workflow of a live task. Safe to repeat. */
  readonly continueAsRun: (taskId: string) => Promise<void>
  /** Limit for the tasks of each family that are worked on at the same time. */
  readonly slots: Readonly<Record<Family, number>>
  /** Aborts when the process is asked to stop. Calls that are under way finish. */
  readonly stopping: AbortSignal
  readonly onResult: (result: OfferResult) => void
  /** Called when the work on an offer throws. The reconciler starts the task's workflow if nobody else does. */
  readonly onUnexpected: (taskId: string, error: unknown) => void
}

export type OfferTaker = {
  /** Works on the task of an offer at once, or hands it over to a workflow. Returns at once and never throws. */
  readonly take: (offer: Offer) => void
  /** Resolves when no task of an offer is worked on. */
  readonly idle: () => Promise<void>
}

/**
 * Creates the part of a worker that makes the first call of a synchronous task without Temporal. It works on the task
 * of an offer at once, under the same gate as every other call. It keeps no queue: when all slots of the task's
 * family are in use, it hands the task over to a workflow, which waits in Temporal's queue, where accounts get their
 * turns in rotation. A task that stands in line for a place takes no slot.
 *
 * If the work ends the task, the end is recorded here. Otherwise the task is handed over to a workflow: before a wait
 * that is not short, after an error, and when this worker stops.
 */
export function createOfferTaker(deps: TakeOffersDeps): OfferTaker {
  const open = { A: 0, B: 0 }
  const running = new Set<Promise<void>>()

  async function work({ taskId, family }: Offer): Promise<void> {
    const result = await inSlot(taskId, family)
    deps.onResult(result)
    if (isHandedOver(result)) await deps.continueAsRun(taskId)
  }

  async function inSlot(taskId: string, family: Family): Promise<OfferResult> {
    if (open[family] >= deps.slots[family]) return 'no_slot'
    open[family] += 1
    const onLine = (inLine: boolean) => {
      open[family] += inLine ? -1 : 1
    }
    return orError(taskId, () => endOrReason(deps, taskId, onLine)).finally(() => {
      open[family] -= 1
    })
  }

  async function orError(taskId: string, run: () => Promise<OfferResult>): Promise<OfferResult> {
    try {
      return await run()
    } catch (error) {
      deps.onUnexpected(taskId, error)
      return 'error'
    }
  }

  return {
    take: (offer) => {
      const one = work(offer)
        .catch((error: unknown) => deps.onUnexpected(offer.taskId, error))
        .finally(() => running.delete(one))
      running.add(one)
    },
    idle: async () => {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

/** Brings the task as far as possible now. Returns the end, or why the task is handed over. */
async function endOrReason(
  deps: TakeOffersDeps,
  taskId: string,
  onLine: (inLine: boolean) => void,
): Promise<OfferResult> {
  const { produceImage, stopping: signal } = deps
  const result = await produceImage({ taskId, signal, via: 'offer', onLine })
  switch (result.kind) {
    case 'succeeded':
    case 'failed':
    case 'over':
      return result.kind
    case 'wait':
      return signal.aborted ? 'stopping' : 'wait'
    default:
      return assertNever(result)
  }
}

function isHandedOver(result: OfferResult): boolean {
  return result !== 'succeeded' && result !== 'failed' && result !== 'over'
}
