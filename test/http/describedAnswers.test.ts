import { describe, expect, it } from 'vitest'
import type { SeenAnswer } from '../support/openapi/describedAnswers.ts'
import { createDescribedAnswers } from '../support/openapi/describedAnswers.ts'

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
const unknownTask: SeenAnswer = {
  ...health,
  path: `/v1/tasks/task_${'0'.repeat(32)}`,
  status: 404,
}

describe('an answer that is not as the document describes it', () => {
  it('is found by its head', () => {
    const changed = (more: Record<string, string>) => new Headers({ ...headers, ...more })
    expect(head(health)).toEqual([])
    expect(head({ ...health, status: 202 })).toEqual(['the status 202 is not described'])
    expect(head({ ...health, method: 'POST' })).toEqual(['the method POST is not described'])
    expect(head({ ...health, headers: changed({ location: 'http://x/' }) })).toEqual([
      'the header Location is not described',
    ])
    expect(head({ ...health, headers: changed({ 'content-type': 'text/html' }) })).toEqual([
      'the Content-Type text/html is not described',
    ])
    expect(head({ ...health, headers: changed({ 'x-request-id': 'mine' }) })[0]).toMatch(/pattern/)
    const missing = new Headers({ 'content-type': 'application/json', 'cache-control': 'no-store' })
    expect(head({ ...health, headers: missing })).toEqual(['the header x-request-id is missing'])
  })

  it('is found by its body [pages-2]', () => {
    const error = { code: 'task_not_found', message: 'There is no such task.' }
    expect(body(health, { status: 'ok' })).toEqual([])
    expect(body(health, { status: 'fine' })).toHaveLength(1)
    expect(body(health, { status: 'ok', more: true })).toHaveLength(1)
    expect(body(unknownTask, { error })).toEqual([])
    expect(body(unknownTask, { error: { ...error, type: 'x' } })).toHaveLength(1)
    expect(body(unknownTask, { error: { ...error, code: 'gone' } })).toEqual([
      'the code gone is not described for 404',
    ])
  })
})
