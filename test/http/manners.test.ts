import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorResponse, shortErrorResponse } from '../support/clients/responses.ts'
import type { TestApi } from '../support/http/testApi.ts'
import { startTestApi } from '../support/http/testApi.ts'

let api: TestApi
let ready = true
beforeAll(async () => {
  api = await startTestApi(
    {},
    {
      ready: async () => {
        if (!ready) throw new Error('no database')
        return true
      },
    },
  )
})
afterAll(() => api.close())

const submit = '/v1/images/tasks'
const taskPath = `/v1/tasks/task_${'0'.repeat(32)}`

describe('authentication', () => {
  it.each([
    ['no header', [], 'Bearer realm="darkroom"'],
    ['another scheme', ['Basic c2stYQ=='], 'Bearer realm="darkroom", error="invalid_token"'],
    ['an unknown key', ['Bearer sk-z'], 'Bearer realm="darkroom", error="invalid_token"'],
    ['no key', ['Bearer '], 'Bearer realm="darkroom", error="invalid_token"'],
    ['two keys in one', ['Bearer sk-a sk-b'], 'Bearer realm="darkroom", error="invalid_token"'],
    [
      'two headers, the first of them right',
      ['Bearer sk-a', 'Bearer sk-z'],
      'Bearer realm="darkroom", error="invalid_token"',
    ],
  ])('refuses %s before it reads the body', async (_what, values, challenge) => {
    const lines = values.map((value) => `Authorization: ${value}\r\n`).join('')
    const head = `POST ${submit} HTTP/1.1\r\nHost: x\r\n${lines}Content-Length: 1000\r\nConnection: close\r\n\r\n`
    const answer = await api.raw(head)
    expect(answer).toMatch(/^HTTP\/1.1 401 /)
    expect(answer).toContain(`WWW-Authenticate: ${challenge}\r\n`)
    expect(errorResponse.parse(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).error).toEqual({
      message: 'The API key is missing or invalid.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_api_key',
    })
  })

  it('takes the scheme in any case', async () => {
    const response = await api.send(taskPath, { headers: { Authorization: 'bEARER  sk-a' } })
    expect(response.status).toBe(404)
  })

  it('takes no key from anywhere else', async () => {
    const response = await fetch(`${api.url}${taskPath}?key=sk-a`, {
      headers: { 'x-goog-api-key': 'sk-a', 'x-api-key': 'sk-a' },
    })
    expect(response.status).toBe(401)
  })
})

describe('every answer', () => {
  it.each([
    ['of a route', '/healthz'],
    ['of an error', taskPath],
    ['of nothing', '/nowhere'],
  ])('has an id of its own, is not stored and may be read by any page: %s', async (_what, path) => {
    const seen = new Set<string | null>()
    for (let i = 0; i < 2; i++) {
      const response = await api.send(path, { headers: { 'x-request-id': 'mine' } })
      seen.add(response.headers.get('x-request-id'))
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('content-type')).toBe('application/json')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.has('access-control-allow-credentials')).toBe(false)
      expect(response.headers.get('access-control-expose-headers')).toMatch(/Retry-After/)
    }
    expect(seen.size).toBe(2)
    expect(seen).not.toContain('mine')
  })

  it('is reported once, by route pattern and without what the client wrote', async () => {
    api.observed.length = 0
    await api.send(`${taskPath}?secret=1`)
    await api.send('/secret/path', { method: 'DELETE' })
    await expect.poll(() => api.observed.length).toBe(2)
    expect(api.observed[0]).toMatchObject({
      route: '/v1/tasks/:taskId',
      method: 'GET',
      status: 404,
      accountId: 'sk-a',
    })
    expect(api.observed[1]).toMatchObject({ route: 'unmatched', method: 'DELETE', status: 404 })
    expect(JSON.stringify(api.observed)).not.toContain('secret')
  })
})

describe('a wrong method', () => {
  it.each([
    ['GET', submit, 'POST, OPTIONS'],
    ['PUT', '/v1/images/edits', 'POST, OPTIONS'],
    ['DELETE', taskPath, 'HEAD, GET, OPTIONS'],
    ['GET', '/v1beta/models/familya-3-pro-image:generateContent', 'POST, OPTIONS'],
  ])('is 405 naming the right ones: %s %s', async (method, path, allow) => {
    const response = await api.send(path, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
    expect(errorResponse.parse(await response.json()).error.code).toBe('method_not_allowed')
  })
})

describe('a path', () => {
  it.each([
    '/',
    '/v1/images/tasks/',
    '/V1/images/tasks',
    '/v1/tasks',
    '/v1/tasks/%',
    '/v1/tasks/%ff',
    '/%E0%A4%A',
    '//evil.test/v1',
    '/v1/assets/%2e%2e/x',
  ])('that is none of ours is a refusal in JSON, never a 500: %s', async (path) => {
    const answer = await api.raw(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 40[045] /)
    const body: unknown = JSON.parse(answer.split('\r\n\r\n')[1] ?? '')
    expect(
      errorResponse.safeParse(body).success || shortErrorResponse.safeParse(body).success,
    ).toBe(true)
  })
})

describe('a browser', () => {
  it('is let through from any page, without a key, for the headers it names', async () => {
    const response = await fetch(`${api.url}${submit}`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://page.test',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type,x-stainless-os',
      },
    })
    expect(response.status).toBe(204)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
      'access-control-max-age': '7200',
      vary: 'Access-Control-Request-Headers',
    })
  })

  it('is not echoed what is no list of header names', async () => {
    const response = await fetch(`${api.url}${submit}`, {
      method: 'OPTIONS',
      headers: {
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'a b; c="d"',
      },
    })
    expect(response.headers.has('access-control-allow-headers')).toBe(false)
  })

  it('learns what a path allows from plain OPTIONS', async () => {
    const response = await fetch(`${api.url}${submit}`, { method: 'OPTIONS' })
    expect(response.status).toBe(204)
    expect(response.headers.get('allow')).toBe('POST, OPTIONS')
  })
})

describe('health', () => {
  it('is alive without a key, and ready while its parts are', async () => {
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
    ready = false
    const response = await fetch(`${api.url}/readyz`)
    ready = true
    expect(response.status).toBe(503)
    expect(errorResponse.parse(await response.json()).error.code).toBe('not_ready')
  })
})
