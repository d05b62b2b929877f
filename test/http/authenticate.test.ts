import { describe, expect, it } from 'vitest'
import { errorResponse } from '../support/clients/responses.ts'
import { useTestApi } from '../support/http/testApi.ts'

const api = useTestApi()

const submitPath = '/v1/images/tasks'
const taskPath = `/v1/tasks/task_${'0'.repeat(32)}`

describe('authentication', () => {
  it.each([
    ['no header', [], 'Bearer realm="darkroom"'],
    ['another scheme', ['Basic c2stYQ=='], 'Bearer realm="darkroom", error="invalid_token"'],
    ['an unknown key', ['Bearer sk-z'], 'Bearer realm="darkroom", error="invalid_token"'],
    ['an empty key', ['Bearer '], 'Bearer realm="darkroom", error="invalid_token"'],
    ['two keys in one', ['Bearer sk-a sk-b'], 'Bearer realm="darkroom", error="invalid_token"'],
    [
      'two headers, the first of them valid',
      ['Bearer sk-a', 'Bearer sk-z'],
      'Bearer realm="darkroom", error="invalid_token"',
    ],
  ])('refuses %s before it reads the body', async (_what, values, challenge) => {
    const lines = values.map((value) => `Authorization: ${value}\r\n`).join('')
    const head = `POST ${submitPath} HTTP/1.1\r\nHost: x\r\n${lines}Content-Length: 1000\r\nConnection: close\r\n\r\n`
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

  it('accepts the scheme in any letter case', async () => {
    const response = await api.send(taskPath, { headers: { Authorization: 'bEARER  sk-a' } })
    expect(response.status).toBe(404)
  })

  it('accepts no API key from the query or from other headers [auth-5]', async () => {
    const response = await fetch(`${api.url}${taskPath}?key=sk-a`, {
      headers: { 'x-goog-api-key': 'sk-a', 'x-api-key': 'sk-a' },
    })
    expect(response.status).toBe(401)
  })
})
