import { createConfig, lintFromString } from '@redocly/openapi-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createApiDocument } from '../../src/openapi/apiDocument.ts'
import { operations } from '../../src/openapi/operations.ts'

let source: string
beforeAll(() => {
  source = JSON.stringify(createApiDocument({ publicUrl: 'https://images.example.test' }))
})

describe('the OpenAPI document', () => {
  it('is clean by the recommended rules of Redocly [pages-1]', async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const problems = await lintFromString({ source, config })
    expect(
      problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    ).toEqual([])
  })

  it('marks what the API contract does not contain [ext-6]', () => {
    const unmarked = operations.filter(({ extension }) => extension !== true)
    expect(unmarked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'post /v1/images/tasks',
      'get /v1/tasks/{task_id}',
      'get /v1/task/{task_id}',
      'post /v1/images/generations',
      'post /v1/images/edits',
      'post /v1beta/models/{model}:generateContent',
      'post /v1beta/models/{model}:asyncGenerateContent',
    ])
    expect(JSON.parse(source).paths['/healthz'].get).toHaveProperty('x-darkroom-extension', true)
  })
})
