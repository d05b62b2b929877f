import { describe, expect, it } from 'vitest'
import { errorResponse, shortErrorResponse } from '../support/clients/responses.ts'
import { startTestApi, useTestApi } from '../support/http/testApi.ts'

const api = useTestApi()

const submitPath = '/v1/images/tasks'

it.each([
  ['GET', submitPath, 'POST, OPTIONS'],
  ['PATCH', `/v1/tasks/task_${'0'.repeat(32)}`, 'HEAD, GET, DELETE, OPTIONS'],
  ['GET', '/v1beta/models/familya-3-pro-image:generateContent', 'POST, OPTIONS'],
  ['GET', '/v1/models/familya-3-pro-image:generateContent', 'POST, OPTIONS'],
  ['GET', '/v1/models/familya-3-pro-image%3AgenerateContent', 'POST, OPTIONS'],
])(
  'a wrong method is a 405 that names the allowed ones: %s %s [error-405]',
  async (method, path, allow) => {
    const response = await api.send(path, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
    expect(errorResponse.parse(await response.json()).error.code).toBe('method_not_allowed')
  },
)

it.each([
  `${submitPath}/`,
  '/V1/images/tasks',
  '/v1/tasks/%',
  '/v1/tasks/%ff',
  '/%E0%A4%A',
  '//evil.test/v1',
  '/v1/assets/%2e%2e/x',
])('an unknown path is an error in JSON, never a 500: %s', async (path) => {
  const answer = await api.raw(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nConnection: close\r\n\r\n`,
  )
  expect(answer).toMatch(/^HTTP\/1.1 40[045] /)
  const body: unknown = JSON.parse(answer.split('\r\n\r\n')[1] ?? '')
  const isError = [errorResponse, shortErrorResponse].some((each) => each.safeParse(body).success)
  expect(isError).toBe(true)
})

it('an unknown path is named without its query [error-404]', async () => {
  const response = await api.send('/v1/nowhere?key=secret')
  expect(response.status).toBe(404)
  expect(errorResponse.parse(await response.json()).error).toEqual({
    message: 'Invalid URL (GET /v1/nowhere)',
    type: 'invalid_request_error',
    param: null,
    code: 'not_found',
  })
})

it.each([
  ['an unknown model', '/v1beta/models/gemini:generateContent', 400, 'model_not_found'],
  ['family B', '/v1beta/models/familyb-image-2-vip:generateContent', 400, 'model_not_found'],
  ['no method', '/v1beta/models/familya-3-pro-image', 404, 'not_found'],
])('a content request is refused for %s', async (_what, path, status, code) => {
  const response = await api.postJson(path, { contents: [{ parts: [{ text: 'A fox' }] }] })
  expect(response.status).toBe(status)
  expect(errorResponse.parse(await response.json()).error.code).toBe(code)
})

describe('OPTIONS without a preflight', () => {
  it.each([
    [submitPath, 204, 'POST, OPTIONS'],
    ['/v1/nope', 404, undefined],
  ])('names the allowed methods: %s', async (path, status, allow) => {
    const answer = await api.raw(`OPTIONS ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(/^Allow: (.*)\r$/m.exec(answer)?.[1]).toBe(allow)
  })
})

it('health is answered without an API key, and readiness follows the parts of the process', async () => {
  expect((await fetch(`${api.url}/healthz`)).status).toBe(200)
  expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
  const lame = await startTestApi({}, { ready: () => Promise.reject(new Error('no database')) })
  const response = await fetch(`${lame.url}/readyz`)
  await lame.close()
  expect(response.status).toBe(503)
  expect(errorResponse.parse(await response.json()).error.code).toBe('not_ready')
})
