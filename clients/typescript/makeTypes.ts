/**
 * node clients/typescript/makeTypes.ts
 *
 * Writes src/apiTypes.ts: the types of what the API takes and answers, from its OpenAPI document.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import type { Schema } from '../apiSchemas.ts'
import { apiSchemas } from '../apiSchemas.ts'

/** Operators declare models of their own, whose names and values the types must let through. */
const openFields = ['model', 'size', 'aspect_ratio', 'quality', 'aspectRatio', 'imageSize']

/** Returns the text of apiTypes.ts. */
export function makeTypes(): string {
  const types = apiSchemas(createModelTable()).map(
    ([name, schema]) => `${commentOf(schema, '')}export type ${name} = ${typeOf(schema, '')}`,
  )
  return [
    '// Made by `node clients/typescript/makeTypes.ts` from the OpenAPI document: do not edit.',
    ...types,
    '',
  ]
    .join('\n\n')
    .replace(/\n\n$/, '\n')
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
