import { describe, expect, it } from 'vitest'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

let ready = true
const api = useTestApi(
  {},
  {
    ready: async () => {
      if (!ready) throw new Error('no database')
      return true
    },
  },
)

describe('health', () => {
  it('is answered without an API key, and readiness follows the parts of the process', async () => {
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
    ready = false
    const response = await fetch(`${api.url}/readyz`)
    ready = true
    expect(response.status).toBe(503)
    expect(errorResponse.parse(await response.json()).error.code).toBe('not_ready')
  })
})
