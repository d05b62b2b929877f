import type { Answer } from './answer.ts'
import type { CliService } from '../wiring/cliService.ts'
import type { Operations } from '../wiring/operations.ts'

/**
 * What every command gets. The service is loaded, and the database is connected, when a command first asks for it. So
 * `--help` is fast and works when nothing is running. What cannot be reached throws an error that names the variable.
 */
export type CliContext = {
  /** The schema and Temporal. Connects to nothing yet. */
  readonly service: () => Promise<CliService>
  /** What an operator does, in the database with the schema of this checkout. */
  readonly operations: () => Promise<Operations>
  /** Prints the answer, as JSON or as text. */
  readonly show: (answer: Answer) => void
  /** Runs work that may take long, and shows `text(seconds)` on stderr meanwhile. With --json it shows nothing. */
  readonly withProgress: <Value>(
    text: (seconds: number) => string,
    work: () => Promise<Value>,
  ) => Promise<Value>
}
