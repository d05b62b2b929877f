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
    async (body) => {
      expect(parse(body)).toEqual({
        codes: ['resource_exhausted', 'rate_limit_exceeded'],
        quotaIds: ['PerDay', 'requests'],
        message: 'Resource exhausted.',
        retryDelay: '37s',
      })
    },
  )

  it.each([
    ['rate_limit_exceeded', 'Requests', ['rate_limit_exceeded', 'requests']],
    // Azure OpenAI has no type.
    ['contentFilter', undefined, ['contentfilter']],
  ])('are read in the shape of family B: %s', async (code, type, codes) => {
    const error = { message: 'No.', type, param: null, code }
    expect(parse({ error })).toEqual({ codes, quotaIds: [], message: 'No.' })
  })

  it.each([
    '{}',
    '[{"error":{"message":"x","type":"y"}},{"error":{"message":"x","type":"y"}}]',
    '{"error":{"message":"no kind"}}',
    '{"error":{"type":"no_message"}}',
    '{"message":"Service Unavailable","status":"error"}',
    '{"error":{"message":"x","type":"y"}',
    '<html>',
    '',
  ])('are not read in any other shape: %j', (text) => {
    expect(parseVendorError(Buffer.from(text))).toBeUndefined()
  })
})
