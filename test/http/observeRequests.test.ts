import { expect, it } from 'vitest'
import { observeRequests } from '../../src/http/middleware.ts'

const base = { method: 'GET', durationMs: 1.6, requestId: 'req_1' }

function loggedAt(seen: { readonly route: string; readonly status: number }) {
  const lines: unknown[] = []
  const write = (level: string) => (_message: string, fields?: object) =>
    void lines.push({ level, ...fields })
  const log = { info: write('info'), debug: write('debug') }
  observeRequests({ log, metrics: { request: () => {} } })({ ...base, ...seen })
  return lines
}

it.each([
  ['/readyz', 200, 'debug'],
  ['/readyz', 503, 'info'],
  ['/healthz', 200, 'debug'],
  ['/v1/tasks/:taskId', 200, 'info'],
])('logs %s answered by %i at level %s', (route, status, level) => {
  expect(loggedAt({ route, status })).toEqual([{ level, ...base, durationMs: 2, route, status }])
})
