import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { OutcomeEvidence, OutcomeReason, UpstreamOutcome } from '../domain/upstreamCall.ts'
import type { AnswerVerdict, FamilyCall } from './callUpstream.ts'
import type { ErrorReading } from './errorAnswer.ts'
import type { AnswerReading, ModelAnswer } from './modelAnswer.ts'
import type { Answer, SendResult } from './send.ts'

type Witness = (reason: OutcomeReason) => OutcomeEvidence

/** The outcome of one call, with the evidence of what was seen on the wire. */
export async function outcomeOf(
  result: SendResult<AnswerReading>,
  family: FamilyCall,
): Promise<UpstreamOutcome> {
  if (result.kind === 'not_sent') {
    const reason = result.why === 'own_body' ? 'inputs_unreadable' : 'not_sent'
    return { class: 'refused', evidence: { reason } }
  }
  const witness = witnessOf(result)
  if (result.kind === 'lost') return { class: 'unknown', evidence: witness(result.reason) }
  const reading = result.value
  if (reading.kind === 'error') return errorOutcome(reading.error, witness)
  const outcome = await outcomeOfRead(reading.read, family, witness)
  // Of another 2xx nothing but an image is believed: a 202 without one says that the work goes on.
  return outcome.class === 'succeeded' || result.answer.status === 200
    ? outcome
    : { class: 'unknown', evidence: witness('unexpected_status') }
}

async function outcomeOfRead(
  read: Extract<AnswerReading, { kind: 'ok' }>['read'],
  family: FamilyCall,
  witness: Witness,
): Promise<UpstreamOutcome> {
  if (!read.ok) return { class: 'unknown', evidence: witness(read.failure) }
  return verdictOutcome(await judged(read.value, family), witness)
}

function witnessOf(result: Exclude<SendResult<unknown>, { kind: 'not_sent' }>): Witness {
  const { answer, latencyMs } = result
  const requestId = answer === undefined ? undefined : upstreamRequestId(answer.headers)
  return (reason) => ({
    reason,
    latencyMs,
    ...(answer === undefined ? {} : { httpStatus: answer.status }),
    ...defined({ upstreamRequestId: requestId }),
  })
}

/** Only the image that is handed on stays held, whatever happens. */
async function judged(answer: ModelAnswer, family: FamilyCall): Promise<AnswerVerdict> {
  let verdict: AnswerVerdict = { kind: 'broken' }
  try {
    verdict = await family.judge(answer)
    return verdict
  } finally {
    const kept = verdict.kind === 'image' ? verdict.image : undefined
    const others = answer.images.flatMap(({ image }) =>
      image === undefined || image === kept ? [] : [image.discard()],
    )
    await Promise.all(others)
  }
}

function verdictOutcome(verdict: AnswerVerdict, witness: Witness): UpstreamOutcome {
  switch (verdict.kind) {
    case 'image': {
      const { image, native } = verdict
      return { class: 'succeeded', evidence: witness('image'), image, native }
    }
    case 'refusal': {
      const { reason, nativeRefusal } = verdict
      const evidence = witness(reason)
      const refused = { class: 'rejected', evidence, code: rejectionCode(reason) } as const
      return nativeRefusal === undefined ? refused : { ...refused, nativeRefusal }
    }
    case 'broken':
      return { class: 'unknown', evidence: witness('broken_body') }
    default:
      return assertNever(verdict)
  }
}

function errorOutcome(error: ErrorReading, witness: Witness): UpstreamOutcome {
  const evidence = witness(error.reason)
  const wait = error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }
  switch (error.class) {
    case 'refused':
    case 'exhausted':
      return { class: error.class, evidence, ...wait }
    case 'rejected':
      return { class: error.class, evidence, code: rejectionCode(error.reason) }
    case 'operator_fault':
    case 'unknown':
      return { class: error.class, evidence }
    default:
      return assertNever(error.class)
  }
}

function rejectionCode(
  reason: OutcomeReason,
): 'content_policy_violation' | 'no_image_generated' | 'upstream_invalid_request' {
  if (reason === 'content_policy') return 'content_policy_violation'
  return reason === 'no_image' ? 'no_image_generated' : 'upstream_invalid_request'
}

const lengthMax = 128

/** The answer's `x-request-id`, harmless to log: only letters, digits and a few signs of it are kept. */
function upstreamRequestId(headers: Answer['headers']): string | undefined {
  const value = headers['x-request-id']
  const text = Array.isArray(value) ? value[0] : value
  const safe = text?.replaceAll(/[^0-9A-Za-z._:/=+-]/g, '').slice(0, lengthMax)
  return safe === '' ? undefined : safe
}
