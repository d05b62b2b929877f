/**
 * A failure to start that a person can act on: its message is the whole story and is shown without
 * a stack.
 */
export const startFailure = (message: string): Error => {
  const error = new Error(message)
  error.name = 'StartFailure'
  return error
}

/** Whether the error came from `startFailure`. */
export const isStartFailure = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'StartFailure'
