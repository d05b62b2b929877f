import { describe, expect, it } from 'vitest'
import { errorResponse } from '../support/clients/responses.ts'
import { useTestApi } from '../support/http/testApi.ts'

const api = useTestApi()

/** Paths of the extensions that answer GET with JSON for an account without tasks and webhooks. */
const reads = [
  '/v1/account',
  '/v1/models',
  '/v1/models/familya-3-pro-image',
  '/v1/tasks',
  '/v1/usage',
  '/v1/webhooks',
]

describe.each(reads)('%s', (path) => {
  it('answers JSON that nobody may store [ext-2]', async () => {
    const response = await api.send(path)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  it('needs a valid key, and says so in the envelope with four fields [ext-1]', async () => {
    for (const Authorization of ['', 'Bearer sk-unknown', 'Basic c2stYTo=']) {
      const response = await api.send(path, { headers: { Authorization } })
      expect(response.status).toBe(401)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(errorResponse.parse(await response.json()).error.code).toBe('invalid_api_key')
    }
  })

  it.each([
    ['colour=red', 'colour'],
    ['LIMIT=1', 'LIMIT'],
    ['limit%5B%5D=1', 'limit[]'],
    ['__proto__=1', '__proto__'],
    ['toString', 'toString'],
    ['=1', ''],
    ['%ff=1', '\u{fffd}'],
    ['a+b=1', 'a b'],
    ['?limit=1', '?limit'],
  ])('refuses the unknown query parameter in %s and names it [ext-4]', async (query, name) => {
    const response = await api.send(`${path}?${query}`)
    expect(response.status).toBe(400)
    const { error } = errorResponse.parse(await response.json())
    expect(error).toMatchObject({ code: 'unknown_parameter', param: name })
    expect(error.message).toContain(`'${name}'`)
  })

  it('shortens an unknown name that is long', async () => {
    const response = await api.send(`${path}?${'x'.repeat(5_000)}=1`)
    expect(response.status).toBe(400)
    expect((await response.text()).length).toBeLessThan(1_000)
  })

  it('answers HEAD like GET, without a body', async () => {
    const [got, head] = [await api.send(path), await api.send(path, { method: 'HEAD' })]
    expect(head.status).toBe(200)
    expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
    expect(await head.text()).toBe('')
  })

  it('takes an empty query', async () => {
    expect((await api.send(`${path}?`)).status).toBe(200)
  })
})
