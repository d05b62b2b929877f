import { inMemoryBytesMax } from './answerBody.ts'
import { defined } from '../domain/defined.ts'
import { fittedResponse } from '../domain/upstream/nativeResponse.ts'
import type { OutcomeEvidence, UpstreamOutcome } from '../domain/upstream/upstreamCall.ts'
import { readErrorAnswer } from './errorAnswer.ts'
import type { Answer } from './exchange.ts'
import { isSuccess } from './exchange.ts'
import type { AnswerVerdict, FamilyCall } from './modelAnswer.ts'
import { looksLikeJson, readModelAnswer } from './modelAnswer.ts'
import type { ByteBudget } from '../streams/byteBudget.ts'
import { freeMemory } from '../streams/freeMemory.ts'

type Family = Pick<FamilyCall, 'isImage' | 'judge'>

/**
 * Returns the outcome of a call that was answered, together with the evidence: what happened on the connection. Throws
 * when the file of a large answer cannot be read.
 */
export async function callOutcome(
  { answer, latencyMs }: { readonly answer: Answer; readonly latencyMs: number },
  family: Family,
  memory: ByteBudget,
): Promise<UpstreamOutcome> {
  const about = {
    latencyMs,
    httpStatus: answer.status,
    ...defined({ upstreamRequestId: upstreamRequestId(answer.headers) }),
  }
  if (!isSuccess(answer.status)) {
    return withEvidence(await readErrorAnswer(answer, Date.now()), about, () => {})
  }
  const room = memory.open('')
  let isKept = false
  try {
    const bytes = answer.body.bytes()
    if (bytes > inMemoryBytesMax) await room.cover(bytes, Infinity)
    const body = await answer.body.take()
    const verdict = await verdictOf(body, answer, family)
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
  { isImage, judge }: Family,
): Promise<AnswerVerdict> {
  const read = await readModelAnswer(body, answer, isImage)
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
  const given = outcome.class === 'succeeded' ? outcome.native.response : outcome.nativeRejection
  const { response, leftOutBytes } = fittedResponse(given ?? {})
  const evidence = { reason, ...about, ...(leftOutBytes > 0 ? { leftOutBytes } : {}) }
  if (outcome.class !== 'succeeded') {
    return { ...outcome, evidence, ...(given && { nativeRejection: response }) }
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
