import { describe, expect, it } from 'vitest'
import { faultTable } from '../../src/dev/simulator/faults.ts'
import type { Family } from '../../src/domain/models/models.ts'
import type { OutcomeClass, OutcomeReason } from '../../src/domain/upstream/upstreamCall.ts'
import { openSimulatedWorld } from '../support/upstream/upstreamWorld.ts'

type Row = readonly [string, OutcomeClass, OutcomeReason, extra?: object]

/** Answers that vendors were seen to send, by the faults of the simulator. More are in test/tasks/vendorAnswers.test.ts. */
const bothFamilies: readonly Row[] = [
  ['429', 'refused', 'rate_limited', { retryAfterMs: 1000 }],
  ['429 form=none', 'refused', 'rate_limited'],
  ['429 form=ms retry-after=2.5', 'refused', 'rate_limited', { retryAfterMs: 2500 }],
  ['503', 'refused', 'overloaded'],
  ['503 retry-after=7', 'refused', 'overloaded', { retryAfterMs: 7000 }],
  ['quota', 'exhausted', 'quota_exhausted'],
  ['billing status=429', 'exhausted', 'quota_exhausted'],
  ['400', 'rejected', 'invalid_request'],
  ['moderation', 'rejected', 'content_policy'],
  ['401', 'operator_fault', 'credential'],
  ['bad-key', 'operator_fault', 'credential'],
  ['403 about=country', 'operator_fault', 'forbidden'],
  ['404', 'operator_fault', 'model_not_found'],
  ['status code=451 form=html', 'declined', 'forbidden'],
  ['status code=409', 'unknown', 'unexpected_status'],
  ['status code=425', 'unknown', 'unexpected_status'],
  ['429 form=text retry-after=2.5', 'refused', 'rate_limited', { retryAfterMs: 2500 }],
  ['429 form=text retry-after=900', 'refused', 'rate_limited', { retryAfterMs: 30_000 }],
  ['500 after=20', 'unknown', 'server_error'],
  ['500', 'unknown', 'server_error'],
  ['502', 'unknown', 'server_error'],
  ['503-html', 'unknown', 'server_error'],
  ['504', 'unknown', 'server_error'],
  ['redirect', 'unknown', 'unexpected_status'],
  ['html', 'unknown', 'broken_body'],
  ['empty', 'unknown', 'broken_body'],
  ['url', 'unknown', 'broken_body'],
  ['bad-base64', 'unknown', 'broken_body'],
  ['not-image', 'unknown', 'broken_body'],
  ['cut-image', 'unknown', 'broken_body'],
  ['truncated how=json', 'unknown', 'broken_body'],
  ['truncated', 'unknown', 'connection_lost'],
  ['reset', 'unknown', 'connection_lost'],
  ['zero', 'rejected', 'no_image'],
  ['zero form=absent', 'rejected', 'no_image'],
  ['two', 'succeeded', 'image'],
  ['pixels width=125 height=64', 'succeeded', 'image', { image: { width: 125, height: 64 } }],
  ['slow chunks=5 interval=10', 'succeeded', 'image'],
]

const familyA: readonly Row[] = [
  ['503 array=true', 'refused', 'overloaded'],
  [
    '429 array=true form=retry-info retry-after=2.5',
    'refused',
    'rate_limited',
    { retryAfterMs: 2500 },
  ],
  ['403 about=project', 'operator_fault', 'forbidden'],
  ['billing status=400', 'operator_fault', 'forbidden'],
  ['403', 'operator_fault', 'forbidden'],
  ['block', 'rejected', 'content_policy'],
  ['block reason=JAILBREAK', 'rejected', 'content_policy'],
  ['finish reason=NEW_WORD', 'rejected', 'no_image', { evidence: { vendorCode: 'NEW_WORD' } }],
  ['status code=403 reason=USER_PROJECT_DENIED', 'operator_fault', 'forbidden'],
  ['no-image', 'rejected', 'no_image'],
  ['text-only', 'rejected', 'no_image'],
  ['finish reason=IMAGE_SAFETY', 'rejected', 'content_policy'],
  ['finish reason=PROHIBITED_CONTENT', 'rejected', 'content_policy'],
  ['finish reason=MAX_TOKENS content=empty', 'rejected', 'no_image'],
  ['finish reason=SAFETY content=text', 'rejected', 'content_policy'],
]

const familyB: readonly Row[] = [
  ['huge', 'unknown', 'answer_too_large'],
  ['403 about=project', 'operator_fault', 'model_not_found'],
  ['quota code=credit_balance_exhausted', 'exhausted', 'quota_exhausted'],
  ['billing', 'exhausted', 'quota_exhausted'],
  ['403', 'operator_fault', 'credential'],
  ['403 about=quota', 'exhausted', 'quota_exhausted'],
  ['moderation stage=output', 'rejected', 'content_policy'],
]

const rows = [
  ...bothFamilies.flatMap((row) => [caseOf('A', row), caseOf('B', row)]),
  ...familyA.map((row) => caseOf('A', row)),
  ...familyB.map((row) => caseOf('B', row)),
]

function caseOf(family: Family, [fault, outcomeClass, reason, extra = {}]: Row) {
  return { family, fault, outcomeClass, reason, extra }
}

describe('classes of upstream answers', () => {
  it.each(rows)(
    'classifies $fault of family $family as $outcomeClass, $reason',
    async ({ family, fault, outcomeClass, reason, extra }) => {
      const { callFamily, simulator } = await openSimulatedWorld()
      // Enough for the answer of 96 MiB on a busy machine.
      const call = { timeoutMs: 40_000 }
      const outcome = await callFamily(family, { prompt: `A castle [sim:${fault}]`, call })
      expect(outcome).toMatchObject({ class: outcomeClass, evidence: { reason }, ...extra })
      expect(simulator.calls()).toHaveLength(1)
    },
  )

  it('are tried with every kind of fault', () => {
    const tried = rows.map(({ fault }) => fault.split(' ')[0])
    // These are tried below, in answerShapes.test.ts, and in tests of the whole service.
    const elsewhere = [
      'shape',
      'in-200',
      'request-id',
      'ok',
      'delay',
      'hold',
      'limit',
      'hang',
      'stall',
      'wrong-mime',
    ]
    expect(new Set([...tried, ...elsewhere])).toEqual(new Set(faultTable.map(({ kind }) => kind)))
  })

  it.each<readonly [Family, string, number, object]>([
    ['A', 'hang', 300, { reason: 'timeout' }],
    ['B', 'stall', 1_000, { reason: 'timeout', httpStatus: 200 }],
  ])('classifies a silent family %s as unknown when the time is over: %s', async (...row) => {
    const [family, fault, timeoutMs, evidence] = row
    const { callFamily } = await openSimulatedWorld()
    const outcome = await callFamily(family, { prompt: `x [sim:${fault}]`, call: { timeoutMs } })
    expect(outcome).toMatchObject({ class: 'unknown', evidence })
  })

  it('returns the refusal of a family A model in its own words, under our names', async () => {
    const { callFamily } = await openSimulatedWorld()
    const outcome = await callFamily('A', { prompt: 'x [sim:block reason=BLOCKLIST]' })
    expect(outcome).toHaveProperty('nativeRejection', {
      promptFeedback: { blockReason: 'BLOCKLIST' },
      usageMetadata: expect.any(Object),
      modelVersion: 'familya-3-pro-image',
      responseId: expect.any(String),
    })
  })

  it('contains no text of an error answer', async () => {
    const { callFamily } = await openSimulatedWorld()
    const prompt = 'x [sim:400 message="canary of the vendor"]'
    const outcomes = [await callFamily('A', { prompt }), await callFamily('B', { prompt })]
    expect(JSON.stringify(outcomes)).not.toContain('canary')
  })

  it.each(['jpeg', 'webp'])(
    'turns a %s of family B into PNG, and names its type with family A by its bytes',
    async (as) => {
      const { callFamily } = await openSimulatedWorld()
      const prompt = `x [sim:wrong-mime as=${as}]`
      const b = await callFamily('B', { prompt })
      expect(b).toMatchObject({ class: 'succeeded', image: { mimeType: 'image/png' } })
      const a = await callFamily('A', { prompt })
      expect(a).toMatchObject({ class: 'succeeded', image: { mimeType: `image/${as}` } })
      expect(JSON.stringify(a)).toContain(`"inlineData":{"mimeType":"image/${as}","data":""}`)
    },
  )
})
