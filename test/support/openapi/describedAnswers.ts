import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import { createApiDocument } from '../../../src/http/apiDocument.ts'
import { routeGroups } from '../../../src/http/routes.ts'

/** One answer of the API, without its body. */
export type SeenAnswer = {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly headers: Headers
}

/** The parts of an OpenAPI document that describe answers. */
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly headers: Readonly<Record<string, { readonly required: boolean }>>
    readonly responses: Readonly<Record<string, Response>>
  }
}
type Operation = { readonly responses: Readonly<Record<string, Response>> }
type Response = {
  readonly $ref?: string
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>
  readonly content?: Readonly<Record<string, unknown>>
  readonly 'x-error-codes'?: readonly string[]
}

/** Statuses that the router gives for a method that a path does not have. */
const methodStatuses = [204, 405]

/**
 * Returns functions that compare answers of an API with its OpenAPI document. Both return what is not as
 * described. Paths that the document does not contain are not checked. `head` checks status, headers and
 * media type; `body` checks a JSON body.
 */
export function createDescribedAnswers(
  described: object = createApiDocument(routeGroups, {
    publicUrl: 'http://127.0.0.1',
    models: createModelTable(),
  }),
) {
  const document: Document = closed(described)
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'document')
  // A path without parameters comes before one that has a parameter in its place.
  const paths = Object.keys(document.paths).toSorted((a, b) => braces(a) - braces(b))
  const patterns = paths.map((path) => ({ path, pattern: patternOf(path) }))
  const headerNames = new Set(Object.keys(document.components.headers).map(headerName))

  /** Returns how a value differs from the schema at a place in the document. Ajv compiles each schema once. */
  function faultsOf(pointer: string, value: unknown): readonly string[] {
    const valid = ajv.getSchema(`document${pointer}/schema`)
    if (valid === undefined) return [`no schema at ${pointer}`]
    return valid(value) === true ? [] : [ajv.errorsText(valid.errors)]
  }

  /** Returns the description of an answer and its place in the document. Absent when the path is unknown. */
  function find({ method, path, status }: SeenAnswer) {
    const known = patterns.find(({ pattern }) => pattern.test(decodeColon(path)))
    if (known === undefined) return undefined
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
    const operation = document.paths[known.path]?.[verb]
    const given = operation?.responses[String(status)]
    const pointer = `#/paths/${escape(known.path)}/${verb}/responses/${status}`
    const name = given?.$ref?.split('/').at(-1)
    return {
      operation,
      response: name === undefined ? given : document.components.responses[name],
      pointer: given?.$ref ?? pointer,
    }
  }

  function head(answer: SeenAnswer): readonly string[] {
    const { method, status, headers } = answer
    const found = find(answer)
    if (found === undefined) return []
    const { operation, response } = found
    if (operation === undefined) {
      return methodStatuses.includes(status) ? [] : [`the method ${method} is not described`]
    }
    if (response === undefined) return [`the status ${status} is not described`]
    return [...headerFaults(response, headers), ...typeFaults(response, method, headers)]
  }

  function headerFaults({ headers: described = {} }: Response, headers: Headers): string[] {
    const faults = [...headerNames]
      .filter((name) => headers.has(name) && !(name in described))
      .map((name) => `the header ${name} is not described`)
    for (const [name, { $ref }] of Object.entries(described)) {
      const value = headers.get(name)
      const component = document.components.headers[$ref.split('/').at(-1) ?? '']
      if (value === null) {
        if (component?.required === true) faults.push(`the header ${name} is missing`)
      } else faults.push(...faultsOf($ref, value).map((fault) => `the header ${name} ${fault}`))
    }
    return faults
  }

  function body(answer: SeenAnswer, value: unknown): readonly string[] {
    const found = find(answer)
    if (found?.response?.content === undefined) return []
    const faults = faultsOf(`${found.pointer}/content/${escape('application/json')}`, value)
    if (faults.length > 0) return faults
    const codes = found.response['x-error-codes']
    const code: unknown = Object(value).error?.code
    return codes === undefined || codes.some((known) => known === code)
      ? []
      : [`the code ${String(code)} is not described for ${answer.status}`]
  }

  return { head, body }
}

function typeFaults({ content }: Response, method: string, headers: Headers): string[] {
  const type = headers.get('content-type')?.split(';')[0]
  if (content === undefined) return []
  if (type === undefined) return method === 'HEAD' ? [] : ['the Content-Type is missing']
  return type in content ? [] : [`the Content-Type ${type} is not described`]
}

/** Removes the suffix of an optional header. */
function headerName(component: string): string {
  return component.replace(/\.optional$/, '')
}

function braces(path: string): number {
  return path.split('{').length
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/:]+')}$`)
}

function decodeColon(path: string): string {
  return path.replaceAll(/%3a/gi, ':')
}

/** Escapes a part of a JSON pointer in a URL. */
function escape(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
}

/**
 * Forbids fields that the document does not name. For clients the objects of answers are open, so that fields
 * can be added. A test must notice a field that is not described.
 */
function closed(document: object): Document {
  const value: Document = JSON.parse(JSON.stringify(document), (_key, part: unknown) =>
    typeof part === 'object' && part !== null && 'properties' in part && 'type' in part
      ? { additionalProperties: false, ...part }
      : part,
  )
  return value
}
