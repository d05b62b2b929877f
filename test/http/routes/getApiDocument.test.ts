import { expect, it } from 'vitest'
import { errorResponse } from '../../support/clients/responses.ts'
import { startTestApi, useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi()

it('the API document is served without a key', async () => {
  const response = await fetch(`${api.url}/openapi.json`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  const servers = [{ url: 'https://images.example.test' }]
  expect(await response.json()).toMatchObject({ openapi: '3.1.1', servers })
})

it('PUBLIC_PAGES=off hides the API document like any unknown path', async () => {
  const hidden = await startTestApi({ publicPages: false })
  const response = await fetch(`${hidden.url}/openapi.json`)
  await hidden.close()
  expect(response.status).toBe(404)
  expect(response.headers.get('cache-control')).toBe('no-store')
  const { message } = errorResponse.parse(await response.json()).error
  expect(message).toBe('Invalid URL (GET /openapi.json)')
})
