import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { commonHeaders, headerReferences } from './answerHeaders.ts'
import type { ErrorName, ErrorStatus } from './errorCatalog.ts'
import { describedError, statusHeaders, statusTexts } from './errorCatalog.ts'
import type { Operation } from './operation.ts'

/** The errors of every operation that come before its route. They have components of their own. */
const earlyErrors = ['request_timeout', 'headers_too_large'] as const

/**
 * Builds the error answers of an operation, by status, from the rows and texts of `errorCatalog.ts`. Each answer
 * has an example of each code. `x-error-codes` lists the codes for programs. The schema allows any code, so that a
 * new code breaks no client.
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
