import { describe, expect, it } from 'vitest'
import { readLenientJson } from '../../src/bytes/readJson.ts'
import { vendorErrorIn } from '../../src/upstream/errorAnswer.ts'

function parseText(text: string) {
  const read = readLenientJson(Buffer.from(text))
  return vendorErrorIn(read.ok ? read.value.document : undefined)
}
const parse = (body: unknown) => parseText(JSON.stringify(body))

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
        codes: ['rate_limit_exceeded', 'resource_exhausted'],
        status: 429,
        code: 'RATE_LIMIT_EXCEEDED',
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
    expect(parse({ error })).toEqual({ codes, code, quotaIds: [], message: 'No.' })
  })

  it('are read without a message where a word of a vendor says who speaks', async () => {
    const error = { code: 'moderation_blocked', type: 'odd' }
    const codes = ['moderation_blocked', 'odd']
    expect(parse({ error })).toEqual({ codes, code: error.code, quotaIds: [], message: '' })
  })

  it.each([
    ['a text about the prompt', undefined],
    ['x'.repeat(65), undefined],
    ['401', undefined],
    ['odd-code.7', 'odd-code.7'],
  ])('are shown by a code within bounds alone: %s', async (given, code) => {
    expect(parse({ error: { message: 'No.', code: given } })?.code).toBe(code)
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
    expect(parseText(text)).toBeUndefined()
  })
})
