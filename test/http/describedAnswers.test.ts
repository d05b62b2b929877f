import { expect, it } from 'vitest'
import type { SeenAnswer } from '../support/openapi/describedAnswers.ts'
import { createDescribedAnswers } from '../support/openapi/describedAnswers.ts'

// Every answer that a test fetches is compared with the document (test/support/openapi/checkAnswers.ts). Here is what
// that comparison finds.

it('an answer that is not as the document describes it is found by its head and by its body [pages-2]', () => {
  const { head, body } = createDescribedAnswers()
  const headers = {
    'content-type': 'application/json',
    'x-request-id': `req_${'0'.repeat(24)}`,
    'cache-control': 'no-store',
  }
  const health: SeenAnswer = {
    method: 'GET',
    path: '/healthz',
    status: 200,
    headers: new Headers(headers),
  }
  const unknownTask = { ...health, path: `/v1/tasks/task_${'0'.repeat(32)}`, status: 404 }
  const changed = (more: object) => ({ ...health, headers: new Headers({ ...headers, ...more }) })
  expect(head(health)).toEqual([])
  expect(head({ ...health, status: 202 })).toEqual(['the status 202 is not described'])
  expect(head(changed({ location: 'http://x/' }))).toEqual(['the header Location is not described'])
  expect(head(changed({ 'x-request-id': 'mine' }))[0]).toMatch(/pattern/)
  expect(body(health, { status: 'ok' })).toEqual([])
  expect(body(health, { status: 'ok', more: true })).toHaveLength(1)
  const error = { code: 'gone', message: 'There is no such task.' }
  expect(body(unknownTask, { error })).toEqual(['the code gone is not described for 404'])
})
