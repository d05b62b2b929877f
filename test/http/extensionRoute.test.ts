import { describe, expect, it } from 'vitest'
import { errorResponse } from '../support/clients/responses.ts'
import { useTestApi } from '../support/http/testApi.ts'

const api = useTestApi()

/** Paths of the extensions that answer GET with JSON for an account without tasks and webhooks. */
const reads = ['account', 'models', 'models/familya-3-pro-image', 'tasks', 'usage', 'webhooks']

describe.each(reads.map((name) => `/v1/${name}`))('%s', (path) => {
  it('answers JSON that nobody may store, and HEAD like GET without a body [ext-2]', async () => {
    const [got, head] = [await api.send(`${path}?`), await api.send(path, { method: 'HEAD' })]
    for (const { status, headers } of [got, head]) {
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('cache-control')).toBe('no-store')
    }
    expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
    expect(await head.text()).toBe('')
  })

  it('needs a valid key, and says so in the envelope with four fields [ext-1]', async () => {
    for (const Authorization of ['', 'Bearer sk-unknown', 'Basic c2stYTo=']) {
      const response = await api.send(path, { headers: { Authorization } })
      expect(response.status).toBe(401)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(errorResponse.parse(await response.json()).error.code).toBe('invalid_api_key')
    }
  })

  it('refuses an unknown query parameter and names it, shortened when it is long [ext-4]', async () => {
    const names = ['colour', 'LIMIT', 'limit[]', '__proto__', 'toString', '', '?limit']
    const queries = [
      ...names.map((name) => [`${encodeURIComponent(name)}=1`, name]),
      ['%ff=1', '\u{fffd}'],
      ['a+b=1', 'a b'],
      [`${'x'.repeat(5_000)}=1`, `${'x'.repeat(200)}…`],
    ]
    for (const [query, name] of queries) {
      const response = await api.send(`${path}?${query}`)
      expect([query, response.status]).toEqual([query, 400])
      const { error } = errorResponse.parse(await response.json())
      expect(error).toMatchObject({ code: 'unknown_parameter', param: name })
      expect(error.message).toContain(`'${name}'`)
    }
  })
})
