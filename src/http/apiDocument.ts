import { STATUS_CODES } from 'node:http'
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiOverride,
  ZodOpenApiPathsObject,
  ZodOpenApiResponseObject,
} from 'zod-openapi'
import { createDocument } from 'zod-openapi'
import { z } from 'zod'
import type { HeaderUse } from './answers/answerHeaders.ts'
import { headerSchemas } from './answers/answerHeaders.ts'
import { defined } from '../domain/defined.ts'
import type { ErrorName, NamedError } from './errorTable.ts'
import { namedError } from './errorTable.ts'
import type { Answer, Content, Route, RouteGroup } from './route.ts'
import type { ModelTable } from '../domain/models/modelTable.ts'
import { errorEnvelope, shortErrorEnvelope } from '../schema/answers/errorEnvelope.ts'
import { valuesOfField } from '../schema/modelFields.ts'

/** The version of the API contract. */
const contractVersion = '1.0.0'

/** What the document of one process says besides its routes. */
export type DocumentAbout = {
  readonly title: string
  readonly description: string
  /** What the key of a request is. */
  readonly key: string
  /** Errors that each route has. */
  readonly errors: readonly ErrorName[]
}

const description = `Generates and edits images, by asynchronous tasks and by synchronous calls.

Every GET operation also answers HEAD, without a body. OPTIONS answers 204 with the methods of a path, and
CORS preflight requests of any origin. A path that does not exist is a 404, and a method that a path does not
have is a 405 with \`Allow\`. Requests and answers are JSON unless an operation says otherwise. Operations with
\`x-darkroom-extension: true\` are additions to the API contract.`

const publicApi: DocumentAbout = {
  title: 'Darkroom',
  description,
  key: 'An API key, `sk-…`.',
  errors: [],
}

type OpenApiDocument = ReturnType<typeof createDocument>

/**
 * Makes the OpenAPI 3.1 document of the routes. `publicUrl` is the base URL of the service. Requests name `models`.
 * Without `about` it is the document of the API.
 */
export function createApiDocument(
  groups: readonly RouteGroup[],
  {
    publicUrl,
    models,
    about = publicApi,
  }: {
    readonly publicUrl: string
    readonly models: ModelTable
    readonly about?: DocumentAbout
  },
): OpenApiDocument {
  const paths: Record<string, ZodOpenApiPathsObject[string]> = {}
  for (const { name, routes } of groups) {
    for (const route of routes) {
      const operation = { tags: [name], ...operationObject(route, about) }
      paths[route.path] = { ...paths[route.path], [methods[route.method]]: operation }
    }
  }
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: about.title,
        version: contractVersion,
        description: about.description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags: groups.map(({ name, about }) => ({ name, description: about })),
      security: [{ apiKey: [] }],
      paths,
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: about.key },
        },
      },
    },
    { override: plainSchema(models) },
  )
}

const methods = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const

function operationObject(route: Route, document: DocumentAbout): ZodOpenApiOperationObject {
  const { id, summary, description: about, params, query, headers, body } = route
  const byStatus = Map.groupBy(errorsOf(route, document), ({ status }) => status)
  return {
    operationId: id,
    summary,
    ...defined({ description: about }),
    ...(route.extension === true ? { 'x-darkroom-extension': true } : {}),
    ...(route.access === 'open' ? { security: [] } : {}),
    requestParams: {
      ...(params === undefined ? {} : { path: z.object(params) }),
      ...defined({ query }),
      ...(headers === undefined ? {} : { header: z.object(headers) }),
    },
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: contentObject(body) } }),
    responses: Object.fromEntries([
      ...Object.entries(route.answers).map(([status, answer]) => [status, responseObject(answer)]),
      ...earlyErrors,
      ...[...byStatus].map(([status, named]) => [status, errorResponse(named, route)]),
    ]),
  }
}

/** Returns the errors of a route, except the early ones. */
function errorsOf(route: Route, { errors: ofAll }: DocumentAbout): readonly NamedError[] {
  const names = new Set<ErrorName>([
    'invalid_request',
    ...ofAll,
    ...(route.access === 'open' ? [] : (['invalid_api_key'] as const)),
    ...(route.errors ?? []),
    'internal_error',
  ])
  const refusals = (route.refusals ?? []).map((code) => ({ status: 409, code, text: '' }))
  return [...[...names].map(namedError), ...refusals]
}

function responseObject({
  description: about,
  headers,
  content,
}: Answer): ZodOpenApiResponseObject {
  return {
    description: about,
    headers: headerSchemas(headers),
    ...(content === undefined ? {} : { content: contentObject(content) }),
  }
}

function contentObject(content: Content): NonNullable<ZodOpenApiResponseObject['content']> {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]))
}

/** Headers that errors of a status have on every route. */
const statusHeaders: Readonly<Record<number, readonly HeaderUse[]>> = {
  401: ['WWW-Authenticate'],
  404: ['x-should-retry?'],
  409: ['x-should-retry'],
  416: ['Content-Range'],
  429: ['Retry-After?'],
  500: ['x-should-retry?'],
}

/**
 * Describes the errors of one status. `x-error-codes` lists the codes for programs. The
 * schema allows any code, so that a new code breaks no client.
 */
function errorResponse(
  errors: readonly NamedError[],
  { envelope, errorHeaders = [] }: Pick<Route, 'envelope' | 'errorHeaders'> = {},
): ZodOpenApiResponseObject {
  const status = errors[0]?.status ?? 0
  const codes = [...new Set(errors.map(({ code }) => code))]
  return {
    'x-error-codes': codes,
    description: `${STATUS_CODES[status]}. Codes: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headerSchemas([...errorHeaders, ...(statusHeaders[status] ?? [])]),
    content: {
      'application/json': {
        schema: envelope === 'short' ? shortErrorEnvelope : errorEnvelope,
      },
    },
  }
}

/** The errors of every route that come before it is known, by their status. */
const earlyErrors = (['request_timeout', 'headers_too_large'] as const).map((id) => {
  const error = namedError(id)
  return [error.status, { id, ...errorResponse([error]) }] as const
})

/**
 * Adds the values that these models take, and removes from the schemas what zod adds and readers do not need: the ban on
 * further fields in answers, because answers may get more fields; the pattern of a date-time, because its format says the
 * same; and the limits of JavaScript's integers.
 */
function plainSchema(models: ModelTable): ZodOpenApiOverride {
  return ({ zodSchema, jsonSchema, io }) => {
    const values = valuesOfField(zodSchema, models)
    if (values !== undefined) jsonSchema.enum = [...values]
    if (io === 'output' && jsonSchema.additionalProperties === false) {
      delete jsonSchema.additionalProperties
    }
    if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  }
}
