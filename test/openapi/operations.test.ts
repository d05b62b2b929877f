import { describe, expect, it } from 'vitest'
import { createParts } from '../../src/http/app.ts'
import { routes } from '../../src/http/routes.ts'
import { operations } from '../../src/openapi/operations.ts'
import { createTestDeps } from '../support/http/testApi.ts'

describe('the operations of the OpenAPI document', () => {
  it('are exactly the routes of the router, with their envelope and access [ext-6]', () => {
    const installed = routes(createParts(createTestDeps().apiDeps)).map((route) => {
      const path = route.path.replaceAll(/(?<!\\):\w+/g, '{}').replaceAll('\\', '')
      return [route.method, path, route.envelope, route.access].join(' ')
    })
    const described = operations.map(({ method, path, envelope, access }) =>
      [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, '{}'), envelope, access].join(' '),
    )
    expect(described.toSorted()).toEqual(installed.toSorted())
  })

  it('each have a name of their own', () => {
    const names = operations.map(({ id }) => id)
    expect(new Set(names).size).toBe(names.length)
  })

  it('name the same parameters in their path and in the schema of their path', () => {
    for (const { path, request } of operations) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect([path, Object.keys(request?.path?.shape ?? {})]).toEqual([path, named])
    }
  })
})
