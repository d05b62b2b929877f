/**
 * A failure to start that a person can fix. Its message says what to do. So `npm start` prints only the
 * message, without a stack trace.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** Prints one line that says what the start is doing. */
export type Say = (line: string) => void
