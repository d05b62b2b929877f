import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { Result } from '../domain/result.ts'
import type {
  KeptImage,
  OutcomeEvidence,
  UpstreamOutcome,
} from '../domain/upstream/upstreamCall.ts'
import type { Answer } from './exchange.ts'
import type { AnswerVerdict, ModelAnswer } from './familyCall.ts'
import type { SendResult } from './send.ts'

type Judge = (answer: ModelAnswer) => Promise<AnswerVerdict>

/**
 * Returns the outcome of one call, together with the evidence: what happened on the connection. `sent`
 * contains the document of the answer, which `judge` judges, or a verdict if reading the answer already gave
 * one (an error status, for example). A call that was not sent is refused. A call whose answer was lost is
 * unknown.
 */
export async function callOutcome(
  sent: SendResult<Result<ModelAnswer, AnswerVerdict>>,
  judge: Judge,
): Promise<UpstreamOutcome> {
  if (sent.kind === 'not_sent') return { class: 'refused', evidence: { reason: sent.reason } }
  const verdict: AnswerVerdict =
    sent.kind === 'lost'
      ? { class: 'unknown', reason: sent.reason }
      : await verdictOf(sent.value, sent.answer.status, judge)
  return withEvidence(verdict, {
    reason: verdict.reason,
    latencyMs: sent.latencyMs,
    ...defined({
      httpStatus: sent.answer?.status,
      upstreamRequestId: sent.answer && upstreamRequestId(sent.answer.headers),
    }),
  })
}

async function verdictOf(
  reading: Result<ModelAnswer, AnswerVerdict>,
  status: number,
  judge: Judge,
): Promise<AnswerVerdict> {
  const verdict = reading.ok ? await judgeImages(reading.value, judge) : reading.failure
  // A status such as 202 without an image may mean that the upstream is still working on the request.
  const onlyImagesCount = status > 200 && status <= 299
  return onlyImagesCount && verdict.class !== 'succeeded'
    ? { class: 'unknown', reason: 'unexpected_status' }
    : verdict
}

/**
 * Judges an answer and discards every image except the one in the verdict. Discards all images when `judge`
 * throws.
 */
async function judgeImages(answer: ModelAnswer, judge: Judge): Promise<AnswerVerdict> {
  let kept: KeptImage | undefined
  try {
    const verdict = await judge(answer)
    if (verdict.class === 'succeeded') kept = verdict.image
    return verdict
  } finally {
    const held = answer.images.flatMap(({ image }) => (image === undefined ? [] : [image]))
    const others = held.filter((image) => image !== kept)
    await Promise.all(others.map((image) => image.discard()))
  }
}

function withEvidence(verdict: AnswerVerdict, evidence: OutcomeEvidence): UpstreamOutcome {
  switch (verdict.class) {
    case 'succeeded':
      return { class: verdict.class, evidence, image: verdict.image, native: verdict.native }
    case 'refused':
    case 'exhausted':
    case 'unknown':
      return {
        class: verdict.class,
        evidence,
        ...defined({ retryAfterMs: verdict.retryAfterMs }),
      }
    case 'rejected':
      return {
        class: verdict.class,
        evidence,
        ...defined({ nativeRejection: verdict.nativeRejection }),
      }
    case 'operator_fault':
      return { class: verdict.class, evidence }
    default:
      return assertNever(verdict)
  }
}

const requestIdLengthMax = 128

/** Returns the `x-request-id` of an answer. Removes all characters that could be harmful in a log. */
function upstreamRequestId(headers: Answer['headers']): string | undefined {
  const value = headers['x-request-id']
  const text = Array.isArray(value) ? value[0] : value
  const safe = text?.replaceAll(/[^0-9A-Za-z._:/=+-]/g, '').slice(0, requestIdLengthMax)
  return safe === '' ? undefined : safe
}
