import type { Answer } from './answer.ts'
import type { CliService } from '../wiring/cliService.ts'
import type { Operator } from '../wiring/operatorParts.ts'

/**
 * What every command gets. The configuration is read, and the database is connected, when a command first asks for it.
 * So `--help` works when nothing is running. What cannot be reached throws an error that names the variable.
 */
export type CliContext = {
  /** The schema and Temporal. Connects to nothing yet. */
  readonly service: () => CliService
  /** What operations work with, in the database with the schema of this checkout. */
  readonly operator: () => Promise<Operator>
  /** Prints the answer, as JSON or as text. */
  readonly show: (answer: Answer) => void
  /** Runs work that may take long, and shows `text(seconds)` on stderr meanwhile. With --json it shows nothing. */
  readonly withProgress: <Value>(
    text: (seconds: number) => string,
    work: () => Promise<Value>,
  ) => Promise<Value>
}
