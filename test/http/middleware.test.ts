import { describe, expect, it } from 'vitest'
import { observeRequests } from '../../src/http/middleware.ts'
import { useTestApi } from '../support/http/testApi.ts'

const api = useTestApi()

const submitPath = '/v1/images/tasks'
const taskPath = `/v1/tasks/task_${'0'.repeat(32)}`

describe('every answer', () => {
  it.each([
    ['of a route', '/healthz'],
    ['of an error', taskPath],
    ['of an unknown path', '/nowhere'],
  ])(
    'has its own request id, is not cached and can be read by pages of any origin: %s [answer-1, answer-2]',
    async (_what, path) => {
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
    },
  )

  it('is reported once, by route pattern and without text from the client', async () => {
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

describe('a preflight request', () => {
  it('is answered for any origin, without an API key, with the headers that it names [answer-2]', async () => {
    const response = await fetch(`${api.url}${submitPath}`, {
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
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE, OPTIONS',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
      'access-control-max-age': '7200',
    })
  })
})

describe('the log of requests', () => {
  const base = { method: 'GET', durationMs: 1.6, requestId: 'req_1' }
  it.each([
    ['/readyz', 200, 'debug'],
    ['/readyz', 503, 'info'],
    ['/v1/tasks/:taskId', 200, 'info'],
  ])('has %s answered by %i at level %s', (route, status, expected) => {
    const lines: unknown[] = []
    const write = (level: string) => (_message: string, fields?: object) =>
      void lines.push({ level, ...fields })
    const log = { info: write('info'), debug: write('debug') }
    observeRequests({ log })({ ...base, route, status })
    expect(lines).toEqual([{ level: expected, ...base, durationMs: 2, route, status }])
  })
})
