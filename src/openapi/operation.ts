import type { z } from 'zod'
import type { Headers } from './answerHeaders.ts'
import type { ErrorName } from './errorCatalog.ts'

/**
 * The description of one operation: a method of a route. Every route of `src/http/routes.ts` has one, which
 * a test checks. `apiDocument.ts` makes the OpenAPI document from all of them.
 */
export type Operation = {
  readonly method: 'get' | 'post' | 'delete'
  /** The path with its parameters in braces, such as `/v1/tasks/{task_id}`. */
  readonly path: `/${string}`
  /** A name that no other operation has. Generated clients name their functions after it. */
  readonly id: string
  readonly tag: Tag
  readonly summary: string
  /** Further text, in Markdown. */
  readonly description?: string
  /** True for what the API contract does not contain. */
  readonly extension?: true
  /** Whether the operation needs an API key. Adds the 401. */
  readonly access: 'account' | 'open'
  /** The envelope of errors, as in `src/http/routes.ts`. */
  readonly envelope: 'full' | 'short'
  readonly request?: OperationRequest
  /** What the operation answers when it succeeds, by status. */
  readonly answers: Readonly<Record<number, Answer>>
  /**
   * The errors of this operation. Every operation has `invalid_request` and `internal_error` without naming
   * them here, and `invalid_api_key` if it needs an API key.
   */
  readonly errors: readonly ErrorName[]
  /** Headers that errors of this operation may have, in addition to those of `errorCatalog.ts`. */
  readonly errorHeaders?: Headers
}

export type OperationRequest = {
  /** The parameters of the path, by the name that they have in `path`. */
  readonly path?: z.ZodObject
  readonly query?: z.ZodObject
  readonly headers?: z.ZodObject
  readonly body?: Content
}

export type Answer = {
  readonly description: string
  /** The headers of this answer, without those that every answer has. */
  readonly headers?: Headers
  /** Absent for an answer without a body. */
  readonly content?: Content
  /** The operations to which a client can pass on a value of this answer, such as the task id. By operation id. */
  readonly links?: Readonly<Record<string, Link>>
}

/** The parameters to call another operation with. Their values are expressions such as `$response.body#/task_id`. */
type Link = { readonly parameters: Readonly<Record<string, string>> }

/** Bodies by media type. Each has examples, by a name that readers see. */
export type Content = Readonly<Record<string, MediaType>>

type MediaType = {
  readonly schema: z.ZodType | JsonSchema
  readonly examples?: Readonly<Record<string, unknown>>
}

/** A schema that zod cannot express, as JSON Schema. */
type JsonSchema = Readonly<Record<string, unknown>>

/** The groups of operations, in the order in which readers see them. */
export const tags = {
  Tasks: 'Submit a task, and read its record until it ends.',
  'Synchronous images': 'Calls that answer with the finished image. Family B.',
  'Content generation': 'Calls in the form of `generateContent`. Family A.',
  Account: 'What the caller owns, may use and has spent.',
  Webhooks: 'Signed notifications when tasks end.',
  Service: 'Health, and this description.',
} as const
type Tag = keyof typeof tags

/** Returns a JSON body with the given examples, by name. */
export function json(schema: z.ZodType, examples: Readonly<Record<string, unknown>>): Content {
  return { 'application/json': { schema, examples } }
}
