import type { ParameterizedContext } from 'koa'
import type { ErrorReply } from './errorTable.ts'

/** What the middleware and the route of one request share. */
export type ApiState = {
  requestId: string
  /** The pattern of the route, for logs and metrics. `unmatched` when no route matches the request. */
  route: string
  /** `short` for task lookups: their error answers contain only `code` and `message`. */
  envelope: 'full' | 'short'
  accountId?: string
  /** The key of an operator, in the admin process. */
  keyId?: string
  taskId?: string
  /** Set when the request is accepted. True when the request's idempotency key names an earlier task. */
  replayed?: boolean
  /**
   * True when the client's next try may make a second task, or repeat work that is already done. A 5xx answer
   * then has the header `x-should-retry: false`.
   */
  retryIsUnsafe?: boolean
  /** Set while the answer is a stream that has begun and waits for its event: an error becomes this event. */
  stream?: { readonly end: (error: ErrorReply) => void }
  /** The status of an error that is the event of a stream. Logs and metrics count it, and not the 200 of its beginning. */
  streamedStatus?: number
}

export type ApiContext = ParameterizedContext<ApiState>
