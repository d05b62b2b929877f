import { setTimeout as sleep } from 'node:timers/promises'
import type { WaitReason } from '../domain/gate/taskFacts.ts'
import type { Question } from '../domain/ports/attemptStore.ts'
import type { ProduceResult } from './produceImage.ts'

/**
 * Limits for the waits that a task spends inside a worker: for a single wait, and for all waits of the task together.
 * A wait in Temporal ends up to a second late and costs writes to Temporal's database, so a short wait is better
 * spent inside the worker. The limits are short, because the waiting task occupies a slot of the worker.
 *
 * A wait for a place on a full channel has only the first limit. A task that stops asking the gate loses its turn in
 * the queue for a place. And such waits seldom keep a call from starting: while a task waits in this way, every
 * channel of its family is full, paused, or held back by a cooldown or slow start of its model. Only a task of
 * another model may have to wait for a slot, although a channel is free for it.
 */
const shortWaitMsMax = 1_000
const shortWaitsTotalMsMax = 3_000

/**
 * Tasks in line wake together at multiples of this time, so that they share a question to PostgreSQL. The first two in
 * line do not wait for it: a free place would stay empty.
 */
const wakeEveryMs = 200
const delayTogetherMsMin = 250

/** Returns how long a task in line sleeps: its delay, and then until the tasks in line wake together. */
export function sleepInLineMs(delayMs: number, nowMs: number): number {
  if (delayMs < delayTogetherMsMin) return delayMs
  return Math.ceil((nowMs + delayMs) / wakeEveryMs) * wakeEveryMs - nowMs
}

const neverShort: ReadonlySet<WaitReason> = new Set(['backoff', 'stopping', 'not_present'])

/**
 * Runs the work, and runs it again after each short wait. `question` is for the gate. Returns the result of the work
 * when it is not a short wait, or when the signal has aborted.
 *
 * Some waits are never spent here. After an unknown outcome the task goes on in its workflow, where an operator can
 * see and stop it. And when this worker makes no calls, another worker can take the task.
 */
export async function repeatAfterShortWaits(
  work: (question: Question) => Promise<ProduceResult>,
  signal: AbortSignal,
): Promise<ProduceResult> {
  let leftMs = shortWaitsTotalMsMax
  for (let question: Question = 'first'; ;) {
    const result = await work(question)
    if (result.kind !== 'wait' || neverShort.has(result.reason)) return result
    const inLine = result.reason === 'channel_full'
    if (result.delayMs > (inLine ? shortWaitMsMax : Math.min(shortWaitMsMax, leftMs))) return result
    if (!inLine) leftMs -= result.delayMs
    question = inLine ? 'in_line' : 'further'
    const sleepMs = inLine ? sleepInLineMs(result.delayMs, performance.now()) : result.delayMs
    await sleep(sleepMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return result
  }
}
