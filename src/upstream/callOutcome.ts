import { inMemoryBytesMax } from './answerBody.ts'
import { defined } from '../domain/defined.ts'
import type { Channel } from '../domain/upstream/channel.ts'
import type { JsonObject } from '../domain/json.ts'
import { textOf } from '../domain/json.ts'
import type { Result } from '../domain/result.ts'
import { fittedResponse } from '../domain/upstream/nativeResponse.ts'
import type {
  OutcomeEvidence,
  UpstreamCall,
  UpstreamOutcome,
} from '../domain/upstream/upstreamCall.ts'
import { judgeError, readErrorAnswer } from './errorAnswer.ts'
import type { Answer } from './exchange.ts'
import { isSuccess } from './exchange.ts'
import type { FamilyAdapter } from './familyAdapters.ts'
import type { AnswerVerdict, FamilyCall, ModelAnswer } from './modelAnswer.ts'
import { errorOf, looksPlain, readModelAnswer } from './modelAnswer.ts'
import { upstreamRequestId } from './requestId.ts'
import type { ByteBudget } from '../bytes/byteBudget.ts'
import { freeMemory } from '../bytes/freeMemory.ts'

type Call = Pick<FamilyCall, 'judge'> &
  Pick<FamilyAdapter, 'errorIn' | 'requestIdIn'> &
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
  const { errorIn, requestIdIn } = call
  const about = (document: JsonObject) => ({
    latencyMs,
    httpStatus: answer.status,
    ...defined({ upstreamRequestId: upstreamRequestId(answer.headers, requestIdIn(document)) }),
  })
  const facts = { nowMs: Date.now(), errorIn, ...defined({ errorsAreFree: call.errorsAreFree }) }
  if (!isSuccess(answer.status)) {
    const verdict = await readErrorAnswer(answer, facts)
    return withEvidence(repeated(verdict, answer, call), about({}), () => {})
  }
  const room = memory.open('')
  let isKept = false
  try {
    const bytes = answer.body.bytes()
    if (bytes > inMemoryBytesMax) await room.cover(bytes, Infinity)
    const body = await answer.body.take()
    const read = await readModelAnswer(body, answer)
    const verdict = repeated(await verdictOf(read, answer, call, facts), answer, call)
    isKept = verdict.class === 'succeeded'
    const isImage = read.ok && read.value.pictures.some(({ shape }) => shape === 'image_body')
    // zlib may still read a body that was packed, and who stores an image its bytes.
    if (looksPlain(body) && !isImage) freeMemory(body)
    return withEvidence(verdict, about(read.ok ? read.value.document : {}), room.end)
  } finally {
    if (!isKept) room.end()
  }
}

async function verdictOf(
  read: Result<ModelAnswer, AnswerVerdict>,
  answer: Answer,
  { judge }: Call,
  facts: Parameters<typeof readErrorAnswer>[1],
): Promise<AnswerVerdict> {
  const verdict = read.ok ? await judge(read.value) : read.failure
  const error = read.ok && verdict.class !== 'succeeded' ? errorOf(read.value.document) : undefined
  // Any code will do here, because the answer has an error and no image.
  const message = textOf(error?.['message']) ?? ''
  const named = error && facts.errorIn({ error: { ...error, message } })
  if (named !== undefined) return judgeError(answer, named, facts)
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
  const { shape, imageCount, image, native } = outcome
  return {
    class: 'succeeded',
    evidence: { ...evidence, ...defined({ shape, imageCount }) },
    image: { ...image, discard },
    native: { ...native, response },
  }
}
