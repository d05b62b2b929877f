import { describe, expect, it } from 'vitest'
import type { Family } from '../../src/domain/models/models.ts'
import type { AnswerShape } from '../../src/domain/upstream/upstreamCall.ts'
import { openSimulatedWorld } from '../support/upstream/upstreamWorld.ts'

/** Where it was seen, the family, the fault of the simulator, and the shape for the log if it is not documented. */
type Row = readonly [string, Family, string, AnswerShape | undefined]

const delivered: readonly Row[] = [
  [
    'Lixpi/lixpi#135: the only picture of Gemini 3 is a thought',
    'A',
    'shape as=thought',
    'thought',
  ],
  ['langchainjs#10180: drafts of Vertex without a mark', 'A', 'two count=3', undefined],
  ['several final pictures', 'B', 'two count=3', undefined],
  ['bifrost#7357: a picture with a signature', 'A', 'shape as=signed bytes=2000', undefined],
  ['a signature of 5 MiB', 'A', 'shape as=signed', undefined],
  ['a text of 5 MiB beside the picture', 'B', 'shape as=signed', undefined],
  ['coder/xum#3286: the bytes of the picture', 'B', 'shape as=raw', 'image_body'],
  ['the bytes of the picture', 'A', 'shape as=raw', 'image_body'],
  ['a data URL in `url`', 'B', 'shape as=data-url', 'data_url'],
  ['a data URL in `fileUri`', 'A', 'shape as=data-url', 'data_url'],
  ['new-api#4478: a stream of events', 'B', 'shape as=events', 'event_stream'],
  ['a stream of one event without a name', 'B', 'shape as=one-event', 'event_stream'],
  ['a stream of one event without a name', 'A', 'shape as=one-event', 'event_stream'],
  ['`b64` for `b64_json`', 'B', 'shape as=b64', 'other_place'],
  ['a flat `b64_json`', 'B', 'shape as=flat', 'other_place'],
  ['`images[]`', 'B', 'shape as=images', 'other_place'],
  ['`data` that is no list', 'B', 'shape as=object', 'other_place'],
  ['gemini-cli#25607: a list of one document', 'A', 'shape as=list', undefined],
  ['a list of one document', 'B', 'shape as=list', undefined],
  ['a number that Python writes as NaN', 'A', 'shape as=nan', undefined],
  ['a number that Python writes as NaN', 'B', 'shape as=nan', undefined],
]

describe('a picture that arrived is delivered', () => {
  it.each(delivered)('%s, family %s: %s', async (_source, family, fault, shape) => {
    const { callFamily, simulator } = await openSimulatedWorld()
    // The same prompt makes the same pictures. The second answer has them in the documented place.
    const prompt = `A barn [sim:${fault} times=1] [sim:two count=${fault.includes('3') ? 3 : 2}]`
    const outcome = await callFamily(family, { prompt })
    expect(simulator.calls()).toHaveLength(1)
    const plain = await callFamily(family, { prompt })
    if (outcome.class !== 'succeeded' || plain.class !== 'succeeded') {
      throw new Error(outcome.evidence.reason)
    }
    expect(outcome.image.bytes.equals(plain.image.bytes)).toBe(true)
    expect(outcome.native.imagePath.at(-1)).toBe(plain.native.imagePath.at(-1))
    expect(outcome.evidence.shape).toBe(shape)
    expect(outcome.evidence.imageCount).toBe(fault.includes('two') ? 3 : undefined)
  })

  it('and is for the client the image of the answer, not a thought', async () => {
    const { callFamily } = await openSimulatedWorld()
    const outcome = await callFamily('A', { prompt: 'A barn [sim:shape as=thought]' })
    const image = { inlineData: { mimeType: 'image/png', data: '' } }
    expect(outcome).toHaveProperty('native.response.candidates', [
      {
        content: { parts: [image, { text: 'Here is your image.' }], role: 'model' },
        finishReason: 'STOP',
        index: 0,
      },
    ])
  })
})

describe('a picture that is not the image is not delivered', () => {
  it.each([
    ['a thought beside a final picture that is cut', 'A', 'shape as=thought-cut', 'broken_body'],
    ['a partial picture before a cut', 'B', 'shape as=events end=cut', 'broken_body'],
    ['a partial picture alone', 'B', 'shape as=events end=nothing', 'broken_body'],
    ['astrbot_plugin_image_generation#54: an address', 'B', 'url', 'broken_body'],
    ['an address', 'A', 'url', 'broken_body'],
    ['a page', 'B', 'html', 'broken_body'],
  ] as const)('%s, family %s: %s', async (_what, family, fault, reason) => {
    const { callFamily, simulator } = await openSimulatedWorld()
    const outcome = await callFamily(family, { prompt: `A barn [sim:${fault}]` })
    expect(outcome).toMatchObject({ class: 'unknown', evidence: { reason } })
    // Nothing that is an address was fetched either.
    expect(simulator.calls()).toHaveLength(1)
  })
})

it.each([
  ['sub2api#2399, #3381', 'in-200', 'rejected', 'content_policy'],
  ['an error after a partial picture', 'shape as=events end=error', 'rejected', 'content_policy'],
  ['a used-up quota', 'in-200 code=insufficient_quota', 'exhausted', 'quota_exhausted'],
  ['a rate limit', 'in-200 code=rate_limit_exceeded', 'refused', 'rate_limited'],
  ['a key that is wrong', 'in-200 code=invalid_api_key', 'operator_fault', 'credential'],
  ['a code that nobody knows', 'in-200 code=odd_weather', 'unknown', 'unexpected_status'],
] as const)(
  'an error with the status 200 is classed by its code: %s, %s',
  async (_source, fault, outcomeClass, reason) => {
    const { callFamily } = await openSimulatedWorld()
    for (const family of ['A', 'B'] as const) {
      const outcome = await callFamily(family, { prompt: `A barn [sim:${fault}]` })
      expect(outcome).toMatchObject({ class: outcomeClass, evidence: { reason } })
    }
  },
)

describe('the usage of an answer', () => {
  it('of family B counts tokens that are not divided as those of images (litellm#31142)', async () => {
    const { callFamily } = await openSimulatedWorld()
    const outcome = await callFamily('B', { prompt: 'A barn [sim:shape as=total]' })
    expect(outcome).toHaveProperty('native.response.usage', {
      total_tokens: 14_282,
      input_tokens: 10,
      output_tokens: 14_272,
      input_tokens_details: { text_tokens: 0, image_tokens: 10 },
      output_tokens_details: { text_tokens: 0, image_tokens: 14_272 },
    })
  })
})

it.each([
  'x-request-id',
  'apim-request-id',
  'x-ms-request-id',
  'request-id',
  'x-oneapi-request-id',
  'x-goog-request-id',
  'cf-ray',
])('the id that a vendor gave its answer is kept under the name %s', async (header) => {
  const { callFamily, simulator } = await openSimulatedWorld()
  const outcome = await callFamily('B', { prompt: `A barn [sim:request-id header=${header}]` })
  expect(outcome.evidence.upstreamRequestId).toBe(simulator.calls()[0]?.id)
})

it("the id in the body of Google's answer is kept, also when there is no image", async () => {
  const { callFamily } = await openSimulatedWorld()
  const outcome = await callFamily('A', { prompt: 'A barn [sim:request-id]' })
  expect(outcome.evidence.upstreamRequestId).toMatch(/^[\w-]{16}$/)
  expect(JSON.stringify(outcome)).not.toContain(
    `"responseId":"${outcome.evidence.upstreamRequestId}`,
  )
})
