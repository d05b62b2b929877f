import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseFields, parseQuery } from '../../src/schema/extensionRequest.ts'

const schema = z.strictObject({ url: z.url().optional(), name: z.string().max(3).optional() })
const refused = (code: string, param: string | null) => ({
  ok: false,
  failure: { tag: 'invalid_request', code, param },
})

it('a query is read by its schema', () => {
  const parsed = parseQuery(schema, new URLSearchParams('name=a%20b'))
  expect(parsed).toEqual({ ok: true, value: { name: 'a b' } })
})

describe('a query or a body is refused and the field named [ext-4, ext-5]', () => {
  it.each([
    ['name=abc&name=abc', 'invalid_value', 'name'],
    ['nome=a', 'unknown_parameter', 'nome'],
    ['name=abc&__proto__=x', 'unknown_parameter', '__proto__'],
    ['name=abcd', 'invalid_value', 'name'],
  ])('%s', (query, code, param) => {
    expect(parseQuery(schema, new URLSearchParams(query))).toMatchObject(refused(code, param))
  })

  it.each([
    [{ name: 'a', nome: 'b' }, 'unknown_parameter', 'nome'],
    [{ url: 'x' }, 'invalid_value', 'url'],
    [{ name: null }, 'invalid_value', 'name'],
    [[], 'invalid_json', null],
    ['name', 'invalid_json', null],
  ])('%j', (document, code, param) => {
    expect(parseFields(schema, document)).toMatchObject(refused(code, param))
  })
})
