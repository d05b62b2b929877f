import type { ParameterizedContext } from 'koa'
import type { Caller } from '../domain/caller.ts'
import type { HttpFailure } from './httpFailure.ts'

/** What the middleware and the routes of one request tell each other. */
export type ApiState = {
  requestId: string
  /** Pattern of the route, for logs and metrics. */
  route: string
  envelope: 'full' | 'short'
  accountId?: string
  taskId?: string
  /** Of a request that was accepted: its key named an earlier task. */
  replayed?: boolean
  /**
   * Set while a retry may buy a second image, or is for work that is done: a 5xx says
   * `x-should-retry: false`.
   */
  retryMayRepeatWork?: boolean
}

export type ApiContext = ParameterizedContext<ApiState>

/** Inside a route, with the parameters of its path. */
export type RouteContext = ApiContext & { params: Readonly<Record<string, string>> }

/** Answers by itself, or gives back why it did not: only `errors.ts` writes failures. */
export type Handler = (context: RouteContext) => Promise<HttpFailure | undefined>
export type AccountHandler = (
  context: RouteContext,
  caller: Caller,
) => Promise<HttpFailure | undefined>
