import type {
  ZodOpenApiOverride,
  ZodOpenApiPathsObject,
  ZodOpenApiResponseObject,
} from 'zod-openapi'
import { createDocument } from 'zod-openapi'
import { commonHeaders, headerComponents, headerReferences } from './answerHeaders.ts'
import { defined } from '../domain/defined.ts'
import { errorResponseComponents, errorResponses } from './errorResponses.ts'
import type { Answer, Content, Operation } from './operation.ts'
import { tags } from './operation.ts'
import { operations } from './operations.ts'
import { webhookEventsObject } from './webhookEvents.ts'
import { errorEnvelope, shortErrorEnvelope } from '../schema/answers/errorEnvelope.ts'

/** The version of the API contract. */
const version = '1.0.0'

const description = `Generates and edits images, by asynchronous tasks and by synchronous calls.

Every GET operation also answers HEAD, without a body. OPTIONS answers 204 with the methods of a path, and
CORS preflight requests of any origin. A path that does not exist is a 404, and a method that a path does not
have is a 405 with \`Allow\`. Requests and answers are JSON unless an operation says otherwise. Operations with
\`x-darkroom-extension: true\` are additions to the API contract.`

type OpenApiDocument = ReturnType<typeof createDocument>

/** Returns the OpenAPI document of the whole API. `publicUrl` is the base URL of the service. */
export function createApiDocument({ publicUrl }: { readonly publicUrl: string }): OpenApiDocument {
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Darkroom',
        version,
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags: Object.entries(tags).map(([name, about]) => ({ name, description: about })),
      security: [{ apiKey: [] }],
      paths: pathsOf(operations),
      webhooks: webhookEventsObject(),
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `sk-…`.' },
        },
        schemas: { Error: errorEnvelope, LookupError: shortErrorEnvelope },
        headers: headerComponents(),
        responses: errorResponseComponents(),
      },
    },
    { override: plainSchema },
  )
  return withoutUnusedHeaders(document)
}

/** Removes the headers that no answer refers to. */
function withoutUnusedHeaders(document: OpenApiDocument): OpenApiDocument {
  const text = JSON.stringify(document)
  const headers = Object.fromEntries(
    Object.entries(document.components?.headers ?? {}).filter(([name]) =>
      text.includes(`"#/components/headers/${name}"`),
    ),
  )
  return { ...document, components: { ...document.components, headers } }
}

function pathsOf(all: readonly Operation[]): ZodOpenApiPathsObject {
  const paths: Record<string, ZodOpenApiPathsObject[string]> = {}
  for (const operation of all) {
    const { method, path } = operation
    paths[path] = { ...paths[path], [method]: operationObject(operation) }
  }
  return paths
}

function operationObject(operation: Operation): NonNullable<ZodOpenApiPathsObject[string]['get']> {
  const { id, tag, summary, description: about, extension, access, request, answers } = operation
  const { path, query, headers: header, body } = request ?? {}
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...defined({ description: about }),
    ...(extension === true ? { 'x-darkroom-extension': true } : {}),
    ...(access === 'open' ? { security: [] } : {}),
    requestParams: defined({ path, query, header }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: contentObject(body) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [status, responseObject(answer)]),
      ),
      ...errorResponses(operation),
    },
  }
}

function responseObject({
  description: about,
  headers,
  content,
  links,
}: Answer): ZodOpenApiResponseObject {
  return {
    description: about,
    headers: headerReferences({ ...commonHeaders, ...headers }),
    ...(content === undefined ? {} : { content: contentObject(content) }),
    ...(links === undefined ? {} : { links: linksObject(links) }),
  }
}

function linksObject(
  links: NonNullable<Answer['links']>,
): NonNullable<ZodOpenApiResponseObject['links']> {
  return Object.fromEntries(
    Object.entries(links).map(([operationId, { parameters }]) => [
      operationId,
      { operationId, parameters },
    ]),
  )
}

function contentObject(content: Content): NonNullable<ZodOpenApiResponseObject['content']> {
  return Object.fromEntries(
    Object.entries(content).map(([type, { schema, examples = {} }]) => [
      type,
      {
        schema,
        examples: Object.fromEntries(
          Object.entries(examples).map(([name, value]) => [name, { value }]),
        ),
      },
    ]),
  )
}

/**
 * Removes from the schemas what zod adds and readers do not need: the ban on further fields in answers, because
 * answers may get more fields; the pattern of a date-time, because its format says the same; and the limits of
 * JavaScript's integers.
 */
const plainSchema: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io === 'output' && jsonSchema.additionalProperties === false) {
    delete jsonSchema.additionalProperties
  }
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
