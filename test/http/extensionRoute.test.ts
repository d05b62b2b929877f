import { describe, expect, it } from 'vitest'
import { routes } from '../../src/http/routes.ts'
import { errorResponse } from '../support/clients/responses.ts'
import { useTestApi } from '../support/http/testApi.ts'

const api = useTestApi()

/** The extensions that need a key, without `/result`, which is like a lookup, and without the routes of Google. */
const extensions = routes.filter(
  ({ extension, access, envelope, path }) =>
    extension === true && access === 'account' && envelope !== 'short' && !path.includes(':'),
)
const requests = extensions.map(({ method, path }): readonly [string, string] => [
  method,
  path.replace('{model}', 'familya-3-pro-image').replaceAll(/\{(\w+)\}/g, 'no_$1'),
])
const reads = requests.filter(([method, path]) => method === 'GET' && !path.includes('no_'))
const changes = requests.filter(([method]) => method !== 'GET')

/** Returns status, code and field of an error. */
async function refusalOf(answer: Response): Promise<readonly unknown[]> {
  const { code, param } = errorResponse.parse(await answer.json()).error
  return [answer.status, code, param]
}

/** The name of the scheme is as good in any letter case. */
const anyCasing = { headers: { Authorization: 'bEARER  sk-a' } }

it('there are extensions that read and some that change', () => {
  expect(reads.length).toBeGreaterThan(5)
  expect(changes.length).toBeGreaterThan(5)
})

describe.each(reads)('%s %s', (_method, path) => {
  it('answers JSON that nobody may store, and HEAD like GET without a body [ext-2]', async () => {
    const [got, head] = [
      await api.send(`${path}?`),
      await api.send(path, { method: 'HEAD', ...anyCasing }),
    ]
    for (const { status, headers } of [got, head]) {
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('cache-control')).toBe('no-store')
    }
    expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
    expect(await head.text()).toBe('')
  })
})

describe.each(requests)('%s %s', (method, path) => {
  it('needs a valid key, and says so in the envelope with four fields [ext-1]', async () => {
    for (const Authorization of ['', 'Bearer sk-unknown', 'Basic c2stYTo=']) {
      const response = await api.send(path, { method, headers: { Authorization } })
      expect(response.status).toBe(401)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(errorResponse.parse(await response.json()).error.code).toBe('invalid_api_key')
    }
  })

  it('refuses an unknown query parameter and names it [ext-4]', async () => {
    const answer = await api.send(`${path}?colour=1`, { method })
    expect(await refusalOf(answer)).toEqual([400, 'unknown_parameter', 'colour'])
  })
})

it.each([
  ...['LIMIT', 'limit[]', '__proto__', 'toString', '', '?limit'].map((name) => [
    `${encodeURIComponent(name)}=1`,
    name,
  ]),
  ['%ff=1', '\u{fffd}'],
  ['a+b=1', 'a b'],
  [`${'x'.repeat(5_000)}=1`, `${'x'.repeat(200)}…`],
])('the query %.30s has an unknown parameter, which is named [ext-4]', async (query, name) => {
  const answer = await api.send(`/v1/tasks?${query}`)
  expect(await refusalOf(answer)).toEqual([400, 'unknown_parameter', name])
})

const requiredFields: Readonly<Record<string, string>> = {
  '/v1/webhooks': '"url":"https://example.com/",',
  '/v1/estimate': '"model":"familyb-image-2-vip","action":"generate","prompt":"x",',
}

describe.each(changes)('%s %s', (method, path) => {
  const required = requiredFields[path] ?? ''
  it.each([
    ['an unknown field', `{${required}"reason":"late"}`, 'unknown_parameter', 'reason'],
    ['a prototype', `{${required}"__proto__":{}}`, 'unknown_parameter', '__proto__'],
    ['a list', '[]', 'invalid_json', null],
    ['a text', '"url"', 'invalid_json', null],
    ['no JSON', '{', 'invalid_json', null],
  ])('refuses %s [ext-5]', async (_what, body, code, param) => {
    const headers = { 'Content-Type': 'application/json' }
    const answer = await api.send(path, { method, body, headers })
    expect(await refusalOf(answer)).toEqual([400, code, param])
  })

  it('refuses a form', async () => {
    const answer = await api.send(path, { method, body: new URLSearchParams('a=1') })
    expect(await refusalOf(answer)).toEqual([400, 'unsupported_content_type', 'Content-Type'])
  })
})

it('a parameter that is given twice is refused, because nobody can say which value counts', async () => {
  const answer = await api.send('/v1/tasks?limit=1&limit=1')
  expect(await refusalOf(answer)).toEqual([400, 'invalid_value', 'limit'])
})
