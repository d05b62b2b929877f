/**
 * node clients/typescript/makeTypes.ts
 *
 * Writes src/apiTypes.ts: the types of what the API takes and answers, from its OpenAPI document.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import { createApiDocument } from '../../src/http/apiDocument.ts'
import { routeGroups } from '../../src/http/routes.ts'

/** The part of JSON Schema that the document uses. */
type Schema = {
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

/** Their names are those of JavaScript or of nothing that a caller holds. */
const leftOut = ['Error', 'LookupError']

/** Operators declare models of their own, whose names and values the types must let through. */
const openFields = ['model', 'size', 'aspect_ratio', 'quality', 'aspectRatio', 'imageSize']

/** Returns the text of apiTypes.ts. */
export function makeTypes(): string {
  const source = JSON.stringify(
    createApiDocument(routeGroups, {
      publicUrl: 'https://images.example',
      models: createModelTable(),
    }),
  )
  const document: ApiDocument = JSON.parse(source)
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
  const types = [
    ...Object.entries(document.components.schemas).filter(([name]) => !leftOut.includes(name)),
    ...operations.flatMap(queryOf),
    ...operations.flatMap(inlineBodyOf),
  ].map(([name, schema]) => `${commentOf(schema, '')}export type ${name} = ${typeOf(schema, '')}`)
  return [
    '// Made by `node clients/typescript/makeTypes.ts` from the OpenAPI document: do not edit.',
    ...types,
    '',
  ]
    .join('\n\n')
    .replace(/\n\n$/, '\n')
}

type Named = readonly [name: string, schema: Schema]

function queryOf({ operationId, parameters = [] }: Operation): readonly Named[] {
  const inQuery = parameters.filter((each) => each.in === 'query')
  const properties = Object.fromEntries(inQuery.map(({ name, schema }) => [name, schema]))
  return inQuery.length === 0
    ? []
    : [[nameOf(operationId, 'Query'), { type: 'object', properties }]]
}

function inlineBodyOf({ operationId, requestBody }: Operation): readonly Named[] {
  const schema = requestBody?.content['application/json']?.schema
  return schema === undefined || schema.$ref !== undefined
    ? []
    : [[nameOf(operationId, 'Body'), schema]]
}

function nameOf(operationId: string, what: string): string {
  return operationId.charAt(0).toUpperCase() + operationId.slice(1) + what
}

function commentOf({ description }: Schema, indent: string): string {
  return description === undefined ? '' : `${indent}/** ${description} */\n`
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? ''
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(' | ')
  if (schema.anyOf !== undefined)
    return schema.anyOf.map((each) => typeOf(each, indent)).join(' | ')
  switch (schema.type) {
    case 'array':
      return `readonly (${typeOf(schema.items ?? {}, indent)})[]`
    case 'object':
      return schema.properties === undefined
        ? 'Readonly<Record<string, unknown>>'
        : objectOf(schema, schema.properties, indent)
    case 'integer':
      return 'number'
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return schema.type
    case undefined:
    default:
      return 'unknown'
  }
}

function objectOf(
  { required = [] }: Schema,
  properties: Readonly<Record<string, Schema>>,
  indent: string,
) {
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, schema]) => {
    const quoted = /^\w+$/.test(name) ? name : JSON.stringify(name)
    const key = `${quoted}${required.includes(name) ? '' : '?'}`
    const open = openFields.includes(name) && schema.enum !== undefined ? ' | (string & {})' : ''
    return `${commentOf(schema, inner)}${inner}readonly ${key}: ${typeOf(schema, inner)}${open}`
  })
  return `{\n${fields.join('\n')}\n${indent}}`
}

if (import.meta.main) {
  writeFileSync(fileURLToPath(new URL('src/apiTypes.ts', import.meta.url)), makeTypes())
}
