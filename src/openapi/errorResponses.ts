import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import type { Headers } from './answerHeaders.ts'
import { commonHeaders, headerReferences } from './answerHeaders.ts'
import type { ErrorName, ErrorStatus } from './describedErrors.ts'
import { describedError } from './describedErrors.ts'
import type { Operation } from './operation.ts'

/** The errors of every operation that come before its route. They have components of their own. */
const earlyErrors = ['request_timeout', 'headers_too_large'] as const

/**
 * Returns the error answers of an operation by status. Each has an example of each code. `x-error-codes` lists the
 * codes for programs: the schema leaves them open, so that a new code breaks no client.
 */
export function errorResponses(operation: Operation): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(errorNames(operation), (name) => describedError(name).status)
  return Object.fromEntries([
    ...earlyErrors.map((name) => [
      describedError(name).status,
      { $ref: `#/components/responses/${name}` },
    ]),
    ...[...byStatus].map(([status, names]) => [status, errorResponse(operation, status, names)]),
  ])
}

/** Returns the components that `errorResponses` refers to. */
export function errorResponseComponents(): Record<string, ZodOpenApiResponseObject> {
  const operation = { envelope: 'full' } as const
  return Object.fromEntries(
    earlyErrors.map((name) => [
      name,
      errorResponse(operation, describedError(name).status, [name]),
    ]),
  )
}

function errorResponse(
  { envelope, errorHeaders }: Pick<Operation, 'envelope' | 'errorHeaders'>,
  status: ErrorStatus,
  names: readonly ErrorName[],
): ZodOpenApiResponseObject {
  const codes = [...new Set(names.map(codeOf))]
  return {
    'x-error-codes': codes,
    description: `${statusTexts[status]} Codes: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headerReferences({ ...commonHeaders, ...errorHeaders, ...statusHeaders[status] }),
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${envelope === 'short' ? 'LookupError' : 'Error'}` },
        examples: Object.fromEntries(
          names.map((name) => [name, { value: exampleOf(envelope, name) }]),
        ),
      },
    },
  }
}

const statusTexts: Readonly<Record<ErrorStatus, string>> = {
  400: 'The request is not valid, or the model refused it.',
  401: 'The API key is missing or invalid.',
  403: 'The account lacks balance or access.',
  404: 'Not found, or not visible to this account.',
  408: 'The request did not arrive in time.',
  409: 'The request does not fit the present state.',
  413: 'The decompressed request body exceeds the ingress limit.',
  416: 'The range is outside the content.',
  429: 'The upstream model or this service has no capacity now.',
  431: 'The request headers are too large.',
  500: 'The request could not be completed.',
  503: 'Not ready.',
}

/** Headers that errors of a status have on every route. */
const statusHeaders: { readonly [Status in ErrorStatus]?: Headers } = {
  401: { 'WWW-Authenticate': 'always' },
  404: { 'x-should-retry': 'sometimes' },
  409: { 'x-should-retry': 'always' },
  429: { 'Retry-After': 'sometimes' },
  500: { 'x-should-retry': 'sometimes' },
}

function errorNames({ access, errors }: Operation): readonly ErrorName[] {
  const key: readonly ErrorName[] = access === 'account' ? ['invalid_api_key'] : []
  return [...new Set<ErrorName>(['invalid_request', ...key, ...errors, 'internal_error'])]
}

function codeOf(name: ErrorName): string {
  return describedError(name).code ?? name
}

function exampleOf(envelope: Operation['envelope'], name: ErrorName): object {
  const { type, param, message } = describedError(name)
  const code = codeOf(name)
  return { error: envelope === 'short' ? { code, message } : { message, type, param, code } }
}
