import { describe, expect, it } from 'vitest'
import { parseVendorError } from '../../src/upstream/errorAnswer.ts'

const parse = (body: unknown) => parseVendorError(Buffer.from(JSON.stringify(body)))

const errorA = {
  code: 429,
  message: 'Resource exhausted.',
  status: 'RESOURCE_EXHAUSTED',
  details: [
    { reason: 'RATE_LIMIT_EXCEEDED' },
    { violations: [{ quotaMetric: 'requests', quotaId: 'PerDay' }, 'odd', { quotaId: 7 }] },
    { retryDelay: '37s' },
    null,
  ],
}

describe('error bodies of the vendors', () => {
  it.each([[{ error: errorA }], [[{ error: errorA }]]])(
    'are read in the shape of family A, %#',
    (body) => {
      expect(parse(body)).toEqual({
        codes: ['resource_exhausted', 'rate_limit_exceeded'],
        quotaIds: ['PerDay', 'requests'],
        message: 'Resource exhausted.',
        retryDelay: '37s',
      })
    },
  )

  it('are read in the shape of family B', () => {
    const error = { message: 'No.', type: 'Requests', param: null, code: 'rate_limit_exceeded' }
    expect(parse({ error })).toEqual({
      codes: ['rate_limit_exceeded', 'requests'],
      quotaIds: [],
      message: 'No.',
    })
  })

  it('are read in the shape of Azure OpenAI, which has no type', () => {
    const error = { code: 'contentFilter', message: 'Your prompt was filtered.' }
    expect(parse({ error })).toEqual({
      codes: ['contentfilter'],
      quotaIds: [],
      message: 'Your prompt was filtered.',
    })
  })

  it.each([
    [{}],
    [[]],
    [[{ error: errorA }, { error: errorA }]],
    [{ error: 'no' }],
    [{ error: { message: 'no kind' } }],
    [{ error: { type: 'no_message' } }],
    [{ message: 'Service Unavailable', status: 'error' }],
    ['text'],
    [null],
  ])('are not read in any other shape: %j', (body) => {
    expect(parse(body)).toBeUndefined()
  })

  it.each(['', '<html>', '{"error":{"message":"x","type":"y"}', '\u0000'])(
    'are not read when they are not JSON: %j',
    (text) => {
      expect(parseVendorError(Buffer.from(text))).toBeUndefined()
    },
  )
})
