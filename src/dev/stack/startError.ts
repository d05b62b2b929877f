/**
 * A failure to start that a person can fix. Its message says what to do, so the process entry prints the
 * message without a stack trace.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** Prints one line about the progress of the start. */
export type Say = (line: string) => void
