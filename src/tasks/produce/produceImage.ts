import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'
import type { TaskFailure } from '../../domain/failure.ts'
import type { Wait } from '../../domain/gate/taskFacts.ts'
import type { Over } from '../../store/attempts/readTaskFacts.ts'
import { notPresent } from './askForCall.ts'
import { makeCall } from './makeCall.ts'
import { readAnswerMeta } from './storedAnswer.ts'
import type { ProduceImageDeps, ProduceInput } from './produceInput.ts'
import { takeStepInLine, tryFirstCall } from './takeStep.ts'

/** How far `produceImage` brought the task. Expected ends are results, not exceptions. */
export type ProduceResult =
  | { readonly kind: 'succeeded' }
  /** The task ended now without an image. `channel`: of its last attempt. */
  | { readonly kind: 'failed'; readonly failure: TaskFailure; readonly channel?: string }
  /** The task had already ended, or does not exist. */
  | Over
  /** Run `produceImage` again after `delayMs`. The delay contains its jitter. */
  | Omit<Wait, 'inLine'>

/** Waits up to this long are slept here. Temporal's timers are late by up to a second, and each costs it writes. */
const shortWaitMsMax = 1_000

export type ProduceImage = (input: ProduceInput) => Promise<ProduceResult>

/**
 * Creates the function that brings one task as far as possible now, from wherever it stands: it opens an attempt, calls
 * upstream, stores the answer and settles, or records another end. Safe to run at any time, twice at once, and after any
 * crash: each step is a transition of the task's row, which has its own conditions, and a stored answer is settled
 * instead of a new call. A wait that is not short, and every stop, are returned.
 */
export function createProduceImage(deps: ProduceImageDeps): ProduceImage {
  return async (input) => {
    const { taskId, signal } = input
    let { firstOf } = input
    const looked = new Set<string>()
    for (;;) {
      if (signal?.aborted === true) return { kind: 'wait', delayMs: 0, reason: 'stopping' }
      if (!deps.beats.mayCall()) return notPresent
      const tried = firstOf && (await tryFirstCall(deps, input, firstOf))
      firstOf = undefined
      const step = tried ?? (await takeStepInLine(deps, input, looked))
      switch (step.kind) {
        case 'opened':
          if (await makeCall(deps, input, step)) return { kind: 'succeeded' }
          break
        case 'look': {
          const { answerId } = step
          const meta = await readAnswerMeta(deps.blobs, answerId)
          if (meta !== undefined && (await deps.attempts.settleTask({ meta, answerId }))) {
            return { kind: 'succeeded' }
          }
          looked.add(answerId)
          break
        }
        case 'wait': {
          const { inLine: _, ...wait } = step
          // The pause after an unknown outcome is always Temporal's, whose UI then shows the try and its reason.
          if (step.delayMs > shortWaitMsMax || step.reason === 'backoff') return wait
          await sleep(step.delayMs, undefined, { signal }).catch(() => {})
          break
        }
        case 'end': {
          const { failure, attempts, channel } = step
          const result = await deps.attempts.failTask(taskId, failure, attempts)
          if (result === 'failed') return { kind: 'failed', failure, ...defined({ channel }) }
          if (result === 'succeeded') return { kind: 'succeeded' }
          break
        }
        case 'changed':
          break
        case 'over':
          return step
        default:
          return assertNever(step)
      }
    }
  }
}
