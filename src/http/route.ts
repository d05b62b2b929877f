import type { z } from 'zod'
import type { HeaderUse } from './answers/answerHeaders.ts'
import type { HttpFailure } from './errors.ts'
import type { ErrorName } from './errorTable.ts'
import type { ApiContext } from './requestState.ts'

/**
 * One route of a process, and all that is said about it: `router.ts` serves it, `apiDocument.ts` describes it, and every
 * answer that a test fetches is compared with that description. A GET route also answers HEAD. `Parts` is what its
 * handler works with.
 */
export type Route<Parts = never> = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** The path, such as `/v1/tasks/{task_id}`. The handler finds this parameter as `params.taskId`. */
  readonly path: `/${string}`
  /** A name that no other route has. Generated clients name their functions after it. */
  readonly id: string
  readonly summary: string
  /** Further text, in Markdown. */
  readonly description?: string
  /** Whose key it needs. `open`: nobody's. */
  readonly access: 'open' | 'account' | 'viewer' | 'operator'
  /** True for what the API contract does not contain. */
  readonly extension?: true
  /** `short` for the lookups of a task: their errors have fewer fields. */
  readonly envelope?: 'short'
  /** The parameters of the path, by their names there. */
  readonly params?: Readonly<Record<string, z.ZodType>>
  readonly query?: z.ZodObject
  /** Headers of the request. */
  readonly headers?: Readonly<Record<string, z.ZodType>>
  readonly body?: Content
  /** What the route answers when it succeeds, by status. */
  readonly answers: Readonly<Record<number, Answer>>
  /**
   * The errors of this route. Every route has `invalid_request` and `internal_error` without naming them, and
   * `invalid_api_key` if it needs an API key.
   */
  readonly errors?: readonly ErrorName[]
  /** Codes of further errors with the status 409. */
  readonly refusals?: readonly string[]
  /** Headers that errors of this route have, besides those of `apiDocument.ts`. */
  readonly errorHeaders?: readonly HeaderUse[]
  readonly handler: (parts: Parts) => Handler
}

/** Sends the answer and returns `undefined`, or returns a failure. `router.ts` answers with that failure. */
export type Handler = (context: RouteContext) => Promise<HttpFailure | undefined>

/** The context inside a route, with the parameters of its path. */
export type RouteContext = ApiContext & { params: Readonly<Record<string, string>> }

/** Routes that the description shows together. */
export type RouteGroup<Parts = never> = {
  readonly name: string
  readonly about: string
  readonly routes: readonly Route<Parts>[]
}

export type Answer = {
  readonly description: string
  /** The headers of this answer, besides those that every answer has. */
  readonly headers?: readonly HeaderUse[]
  /** Absent for an answer without a body. */
  readonly content?: Content
}

/** The schema of a body by its media type. */
export type Content = Readonly<Record<string, z.ZodType>>

/** Returns a JSON body. */
export function json(schema: z.ZodType): Content {
  return { 'application/json': schema }
}

/** Returns the same route of a task under `/v1/task/…`, which some clients of the API contract call. */
export function underOtherPath<Parts>(route: Route<Parts>): Route<Parts> {
  return {
    ...route,
    path: `/v1/task/${route.path.slice('/v1/tasks/'.length)}`,
    id: `${route.id}ByOtherPath`,
    summary: `${route.summary} (other path)`,
  }
}
