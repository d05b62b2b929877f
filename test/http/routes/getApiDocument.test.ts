import { describe, expect, it } from 'vitest'
import { errorResponse } from '../../support/clients/responses.ts'
import { startTestApi, useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi()

describe('GET /openapi.json', () => {
  it('is served without a key, and again only when it has changed [pages-1]', async () => {
    const response = await fetch(`${api.url}/openapi.json`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchObject({
      openapi: '3.1.1',
      servers: [{ url: 'https://images.example.test' }],
    })
    const etag = response.headers.get('etag') ?? ''
    const again = await fetch(`${api.url}/openapi.json`, { headers: { 'if-none-match': etag } })
    expect(again.status).toBe(304)
  })

  it('is a 404 like any unknown path when the operator hides the public pages [pages-6]', async () => {
    const hidden = await startTestApi({ publicPages: false })
    const response = await fetch(`${hidden.url}/openapi.json`)
    const unknown = await fetch(`${hidden.url}/openapi.jso`)
    await hidden.close()
    expect(response.status).toBe(404)
    const [{ error }, other] = [errorResponse.parse(await response.json()), await unknown.json()]
    expect(error.message).toBe(errorResponse.parse(other).error.message.replace('.jso)', '.json)'))
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})
