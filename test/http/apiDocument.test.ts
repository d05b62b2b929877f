import { createConfig, lintFromString } from '@redocly/openapi-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createAdminDocument } from '../../src/admin/operatorRoutes.ts'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import { createApiDocument } from '../../src/http/apiDocument.ts'
import { routeGroups, routes } from '../../src/http/routes.ts'
import { useTestApi } from '../support/http/testApi.ts'
import type { SeenAnswer } from '../support/openapi/describedAnswers.ts'
import { createDescribedAnswers } from '../support/openapi/describedAnswers.ts'

const api = useTestApi()
let source: string
beforeAll(() => {
  source = JSON.stringify(
    createApiDocument(routeGroups, {
      publicUrl: 'https://images.example.test',
      models: createModelTable(),
    }),
  )
})

async function problemsOf(source: string) {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source, config })
  return problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])
}

describe('the OpenAPI document', () => {
  it('is clean by the recommended rules of Redocly [pages-1]', async () => {
    expect(await problemsOf(source)).toEqual([])
  })

  it('is served without a key', async () => {
    const response = await fetch(`${api.url}/openapi.json`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual(JSON.parse(source))
  })

  it('of the admin API is clean too', async () => {
    expect(await problemsOf(JSON.stringify(createAdminDocument()))).toEqual([])
  })

  it('marks what the API contract does not contain [ext-6]', () => {
    const unmarked = routes.filter(({ extension }) => extension !== true)
    expect(unmarked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/images/tasks',
      'GET /v1/tasks/{task_id}',
      'GET /v1/task/{task_id}',
      'POST /v1/images/generations',
      'POST /v1/images/edits',
      'POST /v1beta/models/{model}:generateContent',
      'POST /v1beta/models/{model}:asyncGenerateContent',
    ])
    expect(JSON.parse(source).paths['/healthz'].get).toHaveProperty('x-darkroom-extension', true)
  })
})

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
  expect(body(health, { status: 'ok', version: '1.0.0' })).toEqual([])
  expect(body(health, { status: 'ok', version: '1.0.0', more: true })).toHaveLength(1)
  const error = { code: 'gone', message: 'There is no such task.' }
  expect(body(unknownTask, { error })).toEqual(['the code gone is not described for 404'])
})
