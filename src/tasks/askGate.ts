import { beatFreshMs } from '../domain/limits.ts'
import type {
  AbandonedAttempt,
  AttemptStore,
  BeginInput,
  BeginResult,
} from '../domain/ports/attemptStore.ts'
import type { Instant } from './timeLimits.ts'
import { elapsedMs, readClocks, retryFor } from './timeLimits.ts'

export type AskGateDeps = {
  readonly attempts: Pick<AttemptStore, 'beginAttempt' | 'abandonAttempt'>
  /** Default: the clocks of this process. */
  readonly clocks?: () => Instant
}

/**
 * Limit for the time between the question to the gate and the start of the call. In this time the process can stand
 * still (SIGSTOP, a suspended machine), PostgreSQL can be slow, and the task may end. The limit is shorter than the
 * silence after which the calls of this process count as lost.
 */
const answerMsMax = beatFreshMs

/**
 * Asks the gate whether the task may call upstream now. Throws when the gate does not answer, or answers too late for
 * a call. After an error nobody knows whether the gate has opened an attempt, because the connection can be lost
 * after the commit. So this function looks for the attempt and closes it before it throws.
 */
export async function askGate(
  deps: AskGateDeps,
  input: AbandonedAttempt & BeginInput,
  signal: AbortSignal | undefined,
): Promise<BeginResult> {
  const clocks = deps.clocks ?? readClocks
  const askedAt = clocks()
  try {
    const begun = await deps.attempts.beginAttempt(input)
    if (begun.kind === 'opened' && elapsedMs(askedAt, clocks()) > answerMsMax) {
      throw new Error('the answer of the gate is too old for a call')
    }
    return begun
  } catch (error) {
    const { taskId, answerId } = input
    await abandon(deps, { taskId, answerId }, signal)
    throw error
  }
}

/** How long the worker tries to close an attempt whose call was not made. */
const abandonMsMax = 5_000

/**
 * Closes an attempt whose call was not made. If that fails, the attempt counts as lost when its lease ends.
 */
async function abandon(
  { attempts }: AskGateDeps,
  attempt: AbandonedAttempt,
  signal: AbortSignal | undefined,
): Promise<void> {
  await retryFor(abandonMsMax, () => attempts.abandonAttempt(attempt), signal).catch(() => {})
}
