/** What is known about a failure besides its message. */
export type ErrorFields = {
  readonly status?: number | undefined
  readonly code?: string | undefined
  readonly param?: string | undefined
  readonly requestId?: string | undefined
  readonly taskId?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly cause?: unknown
}

/** Every error of this client, except wrong types. */
export class DarkroomError extends Error {
  override readonly name = 'DarkroomError'
  /** The HTTP status. Absent when no answer came, when a task failed, and when nothing was sent. */
  readonly status: number | undefined
  /**
   * The code of the API, of a failed task or of the connection (`ECONNRESET`), or one of this client: `aborted`,
   * `timeout`, `no_answer`, `answer_not_read`, `redirected`, `invalid_value`, `invalid_signature`.
   */
  readonly code: string | undefined
  /** The field that is wrong. */
  readonly param: string | undefined
  /** Names the request in the logs of the service. */
  readonly requestId: string | undefined
  readonly taskId: string | undefined
  /**
   * Present while the outcome is unknown: a call with this key buys nothing twice. Absent when nothing was bought, or
   * when the task has failed.
   */
  readonly idempotencyKey: string | undefined

  constructor(message: string, { cause, ...fields }: ErrorFields) {
    super(message, cause === undefined ? {} : { cause })
    this.status = fields.status
    this.code = fields.code
    this.param = fields.param
    this.requestId = fields.requestId
    this.taskId = fields.taskId
    this.idempotencyKey = fields.idempotencyKey
  }

  /** Returns the same error with more that is known about it. */
  with(more: ErrorFields): DarkroomError {
    const { status, code, param, requestId, taskId, idempotencyKey, cause } = this
    const known = { status, code, param, requestId, taskId, idempotencyKey, cause }
    return new DarkroomError(this.message, { ...known, ...more })
  }
}

/** Runs `work`, and adds to its error what is known. */
export async function knowing<Value>(
  known: { readonly taskId: string; readonly idempotencyKey?: string },
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof DarkroomError ? error.with(known) : error
  }
}
