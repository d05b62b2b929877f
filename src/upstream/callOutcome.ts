import { defined } from '../domain/defined.ts'
import type { OutcomeEvidence, UpstreamOutcome } from '../domain/upstream/upstreamCall.ts'
import { readErrorAnswer } from './errorAnswer.ts'
import type { Answer } from './exchange.ts'
import { isSuccess } from './exchange.ts'
import type { AnswerVerdict, FamilyCall } from './familyCall.ts'
import { readModelAnswer } from './modelAnswer.ts'
import type { SendResult } from './send.ts'

type Family = Pick<FamilyCall, 'isImage' | 'judge'>

type OutcomeDeps = {
  /** Returns epoch milliseconds. */
  readonly nowMs: () => number
  readonly largeAnswers: LargeAnswers
}

/**
 * Returns the outcome of one call, together with the evidence: what happened on the connection. A call that was not
 * sent is refused. A call without an answer is unknown. Throws when the file of a large answer cannot be read.
 */
export async function callOutcome(
  sent: SendResult,
  family: Family,
  { nowMs, largeAnswers }: OutcomeDeps,
): Promise<UpstreamOutcome> {
  if (sent.kind === 'not_sent') return { class: 'refused', evidence: { reason: sent.reason } }
  const { latencyMs } = sent
  if (sent.kind === 'lost') {
    return { class: 'unknown', evidence: { reason: sent.reason, latencyMs } }
  }
  const { answer } = sent
  const about = {
    latencyMs,
    httpStatus: answer.status,
    ...defined({ upstreamRequestId: upstreamRequestId(answer.headers) }),
  }
  if (!isSuccess(answer.status)) {
    return withEvidence(await readErrorAnswer(answer, nowMs()), about, () => {})
  }
  const discard = answer.body.isLarge() ? await largeAnswers.begin() : () => {}
  let isKept = false
  try {
    const verdict = await verdictOf(answer, family)
    isKept = verdict.class === 'succeeded'
    return withEvidence(verdict, about, discard)
  } finally {
    if (!isKept) discard()
  }
}

/** The large answers of one process: at most one of them is in memory. */
export type LargeAnswers = {
  /** Resolves when no other large answer is in memory. Then none is until the returned function is called. */
  readonly begin: () => Promise<() => void>
}

/** An answer of 44 MiB takes 80 MiB until its image is stored, so fifty together would take 4 GB. */
export function createLargeAnswers(): LargeAnswers {
  let last = Promise.resolve()
  return {
    begin: async () => {
      const before = last
      const { promise, resolve } = Promise.withResolvers<void>()
      last = promise
      await before
      return resolve
    },
  }
}

async function verdictOf(answer: Answer, { isImage, judge }: Family): Promise<AnswerVerdict> {
  const read = await readModelAnswer(await answer.body.take(), answer, isImage)
  const verdict = read.ok ? await judge(read.value) : read.failure
  // A status such as 202 without an image may mean that the upstream is still working on the request.
  return answer.status !== 200 && answer.cutBy === undefined && verdict.class !== 'succeeded'
    ? { class: 'unknown', reason: 'unexpected_status' }
    : verdict
}

function withEvidence(
  { reason, ...outcome }: AnswerVerdict,
  about: Omit<OutcomeEvidence, 'reason'>,
  discard: () => void,
): UpstreamOutcome {
  const evidence = { reason, ...about }
  return outcome.class === 'succeeded'
    ? { ...outcome, evidence, image: { ...outcome.image, discard } }
    : { ...outcome, evidence }
}

const requestIdLengthMax = 128

/** Returns the `x-request-id` of an answer. Removes all characters that could be harmful in a log. */
function upstreamRequestId(headers: Answer['headers']): string | undefined {
  const value = headers['x-request-id']
  const text = Array.isArray(value) ? value[0] : value
  const safe = text?.replaceAll(/[^0-9A-Za-z._:/=+-]/g, '').slice(0, requestIdLengthMax)
  return safe === '' ? undefined : safe
}
