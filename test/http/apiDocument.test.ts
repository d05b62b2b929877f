import { createConfig, lintFromString } from '@redocly/openapi-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { adminRoutes, createAdminDocument } from '../../src/admin/routes.ts'
import { createApiDocument } from '../../src/http/apiDocument.ts'
import type { Route } from '../../src/http/route.ts'
import { routeGroups, routes } from '../../src/http/routes.ts'
import { useTestApi } from '../support/http/testApi.ts'

const api = useTestApi()
let source: string
beforeAll(() => {
  source = JSON.stringify(
    createApiDocument(routeGroups, { publicUrl: 'https://images.example.test' }),
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

describe.each<[string, readonly Route[]]>([
  ['the API', routes],
  ['the admin API', adminRoutes],
])('the routes of %s', (_name, routes) => {
  it('each have a name of their own', () => {
    const names = routes.map(({ id }) => id)
    expect(new Set(names).size).toBe(names.length)
  })

  it('name the same parameters in their path and in its schemas', () => {
    for (const { path, params = {} } of routes) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect([path, Object.keys(params)]).toEqual([path, named])
    }
  })
})
