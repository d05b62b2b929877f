/**
 * Thrown by a store that could not write and that knows that it has written nothing: it got no connection, or the
 * database took the whole statement back. After every other error of a write, the write may have happened.
 */
export class NothingWrittenError extends Error {
  override readonly name = 'NothingWrittenError'
  /** The code of the error that the database or the system gave, for the log. */
  readonly code: unknown

  constructor(cause: unknown) {
    super('Nothing was written', { cause })
    this.code = Reflect.get(Object(cause), 'code')
  }
}
