/**
 * node clients/python/makeTypes.ts
 *
 * Writes api_types.py: the types of what the API takes and answers, from its OpenAPI document.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Schema } from '../apiSchemas.ts'
import { apiSchemas } from '../apiSchemas.ts'

const head = (
  typing: string,
) => `# Made by \`node clients/python/makeTypes.ts\` from the OpenAPI document: do not edit.

from __future__ import annotations

from typing import ${typing}

from typing_extensions import NotRequired, TypedDict
`

/** Without a table each model and value is any text: a type checker cannot know what an operator adds. */
const anyModels = new Map()

/** Returns the text of api_types.py. */
export function makeTypes(): string {
  const classes: string[] = []
  for (const [name, schema] of apiSchemas(anyModels)) classOf(name, schema, classes)
  const text = classes.join('')
  return head(/\bAny\b/.test(text) ? 'Any, Literal' : 'Literal') + text
}

/** Adds a class for an object, after those of the objects in it. */
function classOf(
  name: string,
  { properties = {}, required = [], description }: Schema,
  classes: string[],
): void {
  const comment = description === undefined ? [] : [`    """${description}"""\n`]
  const fields = Object.entries(properties).map(([field, schema]) => {
    const type = typeOf(schema, name + pascal(field), classes)
    const shown = required.includes(field) ? type : `NotRequired[${type}]`
    const about = schema.description === undefined ? '' : `\n    """${schema.description}"""`
    return `    ${field}: ${shown}${about}`
  })
  const body = fields.length === 0 ? ['    pass'] : fields
  classes.push(`\n\nclass ${name}(TypedDict):\n${[...comment, ...body].join('\n')}\n`)
}

function typeOf(schema: Schema, name: string, classes: string[]): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? ''
  if ('const' in schema) return `Literal[${python(schema.const)}]`
  // No values are known of what each installation says itself.
  if (schema.enum?.length === 0) return 'str'
  if (schema.enum !== undefined) return `Literal[${schema.enum.map(python).join(', ')}]`
  if (schema.anyOf !== undefined) {
    return schema.anyOf
      .map((each, n) => typeOf(each, n === 0 ? name : name + String(n), classes))
      .join(' | ')
  }
  switch (schema.type) {
    case 'array':
      return `list[${typeOf(schema.items ?? {}, name.replace(/s$/, ''), classes)}]`
    case 'object':
      if (schema.properties === undefined) return 'dict[str, Any]'
      classOf(name, schema, classes)
      return name
    case 'string':
      return 'str'
    case 'integer':
      return 'int'
    case 'number':
      return 'float'
    case 'boolean':
      return 'bool'
    case 'null':
      return 'None'
    case undefined:
    default:
      return 'Any'
  }
}

function python(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return JSON.stringify(value)
}

function pascal(field: string): string {
  return field.replaceAll(/(?:^|_)(\w)/g, (_all, letter: string) => letter.toUpperCase())
}

if (import.meta.main) {
  writeFileSync(
    fileURLToPath(new URL('src/darkroom_client/api_types.py', import.meta.url)),
    makeTypes(),
  )
}
