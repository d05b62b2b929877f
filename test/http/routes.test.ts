import { describe, expect, it } from 'vitest'
import { errorResponse, shortErrorResponse } from '../support/clients/responses.ts'
import { useTestApi } from '../support/http/testApi.ts'

const api = useTestApi()

const submitPath = '/v1/images/tasks'
const taskPath = `/v1/tasks/task_${'0'.repeat(32)}`

describe('a wrong method', () => {
  it.each([
    ['GET', submitPath, 'POST, OPTIONS'],
    ['PUT', '/v1/images/edits', 'POST, OPTIONS'],
    ['DELETE', taskPath, 'HEAD, GET, OPTIONS'],
    ['GET', '/v1beta/models/familya-3-pro-image:generateContent', 'POST, OPTIONS'],
  ])('is a 405 that names the allowed ones: %s %s', async (method, path, allow) => {
    const response = await api.send(path, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
    expect(errorResponse.parse(await response.json()).error.code).toBe('method_not_allowed')
  })
})

describe('an unknown path', () => {
  it.each([
    '/v1/images/tasks/',
    '/V1/images/tasks',
    '/v1/task',
    '/v1/tasks/',
    '/v1/tasks/%',
    '/v1/tasks/%ff',
    '/%E0%A4%A',
    '//evil.test/v1',
    '/v1/assets/%2e%2e/x',
  ])('is an error in JSON, never a 500: %s', async (path) => {
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

describe('OPTIONS without a preflight', () => {
  it('names the allowed methods of a path', async () => {
    const response = await fetch(`${api.url}${submitPath}`, { method: 'OPTIONS' })
    expect(response.status).toBe(204)
    expect(response.headers.get('allow')).toBe('POST, OPTIONS')
  })

  it('of the whole server names all methods', async () => {
    const answer = await api.raw('OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1.1 204 /)
    expect(answer).toMatch(/^Allow: GET, HEAD, POST, DELETE, OPTIONS\r$/m)
  })

  it('of an unknown path is a 404', async () => {
    const response = await fetch(`${api.url}/v1/nope`, { method: 'OPTIONS' })
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { code: 'not_found' } })
  })
})
