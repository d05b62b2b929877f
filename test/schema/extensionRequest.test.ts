import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseFields, parseQuery } from '../../src/schema/extensionRequest.ts'

const schema = z.strictObject({ url: z.url().optional(), name: z.string().max(3).optional() })

describe('a query', () => {
  it('is read by its schema', () => {
    expect(parseQuery(schema, new URLSearchParams('name=a%20b'))).toEqual({
      ok: true,
      value: { name: 'a b' },
    })
  })

  it.each([
    ['name=abc&name=abc', 'invalid_value', 'name'],
    ['nome=a', 'unknown_parameter', 'nome'],
    ['name=abc&__proto__=x', 'unknown_parameter', '__proto__'],
    ['name=abcd', 'invalid_value', 'name'],
  ])('is refused and the parameter named: %s', (query, code, param) => {
    const parsed = parseQuery(schema, new URLSearchParams(query))
    expect(parsed).toMatchObject({ ok: false, failure: { tag: 'invalid_request', code, param } })
  })
})

describe('a body', () => {
  it.each([
    [{ name: 'a', nome: 'b' }, 'unknown_parameter', 'nome'],
    [{ url: 'x' }, 'invalid_value', 'url'],
    [{ name: null }, 'invalid_value', 'name'],
    [[], 'invalid_json', null],
    ['name', 'invalid_json', null],
  ])('is refused and the field named: %j [ext-5]', (document, code, param) => {
    const parsed = parseFields(schema, document)
    expect(parsed).toMatchObject({ ok: false, failure: { tag: 'invalid_request', code, param } })
  })
})
