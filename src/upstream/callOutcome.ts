import { inMemoryBytesMax } from './answerBody.ts'
import { defined } from '../domain/defined.ts'
import type { Channel } from '../domain/upstream/channel.ts'
import { fittedResponse } from '../domain/upstream/nativeResponse.ts'
import type {
  OutcomeEvidence,
  UpstreamCall,
  UpstreamOutcome,
} from '../domain/upstream/upstreamCall.ts'
import { readErrorAnswer } from './errorAnswer.ts'
import type { Answer } from './exchange.ts'
import { isSuccess } from './exchange.ts'
import type { AnswerVerdict, FamilyCall } from './modelAnswer.ts'
import { looksLikeJson, readModelAnswer } from './modelAnswer.ts'
import type { ByteBudget } from '../streams/byteBudget.ts'
import { freeMemory } from '../streams/freeMemory.ts'

type Call = Pick<FamilyCall, 'isImage' | 'judge'> &
  Pick<UpstreamCall, 'repeats'> &
  Pick<Channel, 'errorsAreFree'>

/**
 * Returns the outcome of a call that was answered, together with the evidence: what happened on the connection. Throws
 * when the file of a large answer cannot be read.
 */
export async function callOutcome(
  { answer, latencyMs }: { readonly answer: Answer; readonly latencyMs: number },
  call: Call,
  memory: ByteBudget,
): Promise<UpstreamOutcome> {
  const about = {
    latencyMs,
    httpStatus: answer.status,
    ...defined({ upstreamRequestId: upstreamRequestId(answer.headers) }),
  }
  if (!isSuccess(answer.status)) {
    const facts = { nowMs: Date.now(), ...defined({ errorsAreFree: call.errorsAreFree }) }
    const verdict = await readErrorAnswer(answer, facts)
    return withEvidence(repeated(verdict, answer, call), about, () => {})
  }
  const room = memory.open('')
  let isKept = false
  try {
    const bytes = answer.body.bytes()
    if (bytes > inMemoryBytesMax) await room.cover(bytes, Infinity)
    const body = await answer.body.take()
    const verdict = repeated(await verdictOf(body, answer, call), answer, call)
    // zlib may still read a body that was packed.
    if (looksLikeJson(body)) freeMemory(body)
    isKept = verdict.class === 'succeeded'
    return withEvidence(verdict, about, room.end)
  } finally {
    if (!isKept) room.end()
  }
}

async function verdictOf(
  body: Buffer,
  answer: Answer,
  { isImage, judge }: Call,
): Promise<AnswerVerdict> {
  const read = await readModelAnswer(body, answer, isImage)
  const verdict = read.ok ? await judge(read.value) : read.failure
  // A status such as 202 without an image may mean that the upstream is still working on the request.
  return answer.status !== 200 && answer.cutBy === undefined && verdict.class !== 'succeeded'
    ? { class: 'unknown', reason: 'unexpected_status' }
    : verdict
}

/**
 * Returns what an answer means when an earlier call with the same key may have done work. Only moderation then rejects
 * the task: a relay may answer 422 because it compares the bodies under a key
 * (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/), and 409 or 425 says that the earlier
 * call still runs.
 */
function repeated(verdict: AnswerVerdict, { status }: Answer, { repeats }: Call): AnswerVerdict {
  if (repeats !== true) return verdict
  const { reason } = verdict
  if (verdict.class === 'rejected' && reason !== 'content_policy') {
    return { class: 'unknown', reason, ...defined({ vendorCode: verdict.vendorCode }) }
  }
  const mayRun = verdict.class === 'unknown' && (status === 409 || status === 425)
  return mayRun ? { ...verdict, reason: 'in_progress' } : verdict
}

function withEvidence(
  { reason, ...outcome }: AnswerVerdict,
  about: Omit<OutcomeEvidence, 'reason'>,
  discard: () => void,
): UpstreamOutcome {
  const given = outcome.class === 'succeeded' ? outcome.native.response : outcome.nativeRejection
  const { response, leftOutBytes } = fittedResponse(given ?? {})
  const evidence = { reason, ...about, ...(leftOutBytes > 0 ? { leftOutBytes } : {}) }
  if (outcome.class !== 'succeeded') {
    const { vendorCode, ...failed } = outcome
    const seen = { ...evidence, ...defined({ vendorCode }) }
    return { ...failed, evidence: seen, ...(given && { nativeRejection: response }) }
  }
  const native = { ...outcome.native, response }
  return { ...outcome, evidence, native, image: { ...outcome.image, discard } }
}

const requestIdLengthMax = 128

/** Returns the `x-request-id` of an answer. Removes all characters that could be harmful in a log. */
function upstreamRequestId(headers: Answer['headers']): string | undefined {
  const value = headers['x-request-id']
  const text = Array.isArray(value) ? value[0] : value
  const safe = text?.replaceAll(/[^0-9A-Za-z._:/=+-]/g, '').slice(0, requestIdLengthMax)
  return safe === '' ? undefined : safe
}
