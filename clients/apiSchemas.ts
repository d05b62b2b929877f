import type { ModelTable } from '../src/domain/models/modelTable.ts'
import { createApiDocument } from '../src/http/apiDocument.ts'
import { routeGroups } from '../src/http/routes.ts'

/** The part of JSON Schema that the document uses. */
export type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly description?: string
}

export type NamedSchema = readonly [name: string, schema: Schema]

type Operation = {
  readonly operationId: string
  readonly parameters?: readonly {
    readonly in: string
    readonly name: string
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}
type ApiDocument = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Errors are exceptions, and the clients make tasks alone, not calls in a vendor's format. */
const leftOut =
  /^(?:Error|LookupError|GenerationsRequest|EditsForm|ContentRequest|ContentStreamError|GetAssetQuery|StreamGenerate.*)$/

/**
 * Returns what the API takes and answers by name, from its OpenAPI document: bodies, answers and queries. It lists the
 * given models and their values; an operator may add some.
 */
export function apiSchemas(models: ModelTable): readonly NamedSchema[] {
  const of = { publicUrl: 'https://images.example', models }
  const source = JSON.stringify(createApiDocument(routeGroups, of))
  const document: ApiDocument = JSON.parse(source)
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
  return [
    ...Object.entries(document.components.schemas),
    ...operations.flatMap(queryOf),
    ...operations.flatMap(inlineBodyOf),
  ].filter(([name]) => !leftOut.test(name))
}

function queryOf({ operationId, parameters = [] }: Operation): readonly NamedSchema[] {
  const inQuery = parameters.filter((each) => each.in === 'query')
  const properties = Object.fromEntries(inQuery.map(({ name, schema }) => [name, schema]))
  return inQuery.length === 0
    ? []
    : [[nameOf(operationId, 'Query'), { type: 'object', properties }]]
}

function inlineBodyOf({ operationId, requestBody }: Operation): readonly NamedSchema[] {
  const schema = requestBody?.content['application/json']?.schema
  return schema === undefined || schema.$ref !== undefined
    ? []
    : [[nameOf(operationId, 'Body'), schema]]
}

function nameOf(operationId: string, what: string): string {
  return operationId.charAt(0).toUpperCase() + operationId.slice(1) + what
}
