import { expect, it } from 'vitest'
import { errorResponse } from '../support/clients/responses.ts'
import { useTestApi } from '../support/http/testApi.ts'

const api = useTestApi()

it.each([
  ['no header', [], false],
  ['another scheme', ['Basic c2stYQ=='], true],
  ['an unknown key', ['Bearer sk-z'], true],
  ['an empty key', ['Bearer '], true],
  ['two keys in one', ['Bearer sk-a sk-b'], true],
  ['two headers, the first of them valid', ['Bearer sk-a', 'Bearer sk-z'], true],
])('authentication refuses %s before it reads the body', async (_what, values, isInvalid) => {
  const lines = values.map((value) => `Authorization: ${value}\r\n`).join('')
  const answer = await api.raw(
    `POST /v1/images/tasks HTTP/1.1\r\nHost: x\r\n${lines}Content-Length: 1000\r\nConnection: close\r\n\r\n`,
  )
  expect(answer).toMatch(/^HTTP\/1.1 401 /)
  const challenge = `Bearer realm="darkroom"${isInvalid ? ', error="invalid_token"' : ''}`
  expect(answer).toContain(`WWW-Authenticate: ${challenge}\r\n`)
  const { error } = errorResponse.parse(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''))
  expect(error.code).toBe('invalid_api_key')
})

it('authentication takes the scheme in any letter case, and no key from other places', async () => {
  const path = `/v1/tasks/task_${'0'.repeat(32)}`
  const known = await api.send(path, { headers: { Authorization: 'bEARER  sk-a' } })
  expect(known.status).toBe(404)
  const headers = { 'x-goog-api-key': 'sk-a', 'x-api-key': 'sk-a' }
  expect((await fetch(`${api.url}${path}?key=sk-a`, { headers })).status).toBe(401)
})
