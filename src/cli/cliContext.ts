import type { Answer } from './answer.ts'
import type { Operator, OperatorParts } from '../operations/operator.ts'
import type { HistoryEvents } from '../temporal/worker/replay.ts'

/** The installation that the commands work with. */
export type CliService = {
  /** What needs no PostgreSQL. */
  readonly parts: OperatorParts
  /** Connects to PostgreSQL. */
  readonly operator: () => Promise<Operator>
  /** Updates the schema, and Temporal unless TEMPORAL_ADDRESS is not set. */
  readonly migrate: () => Promise<Migrated>
  /** Returns the history of a task's newest run in Temporal's JSON, or `undefined` when there is no run. */
  readonly fetchHistory: (taskId: string) => Promise<string | undefined>
  /** Returns how this checkout's workflow code differs from a history, or `undefined` when it does not. */
  readonly replayTask: (events: HistoryEvents) => Promise<string | undefined>
  /** Closes the connections to PostgreSQL. */
  readonly close: () => Promise<void>
}

/** What a migration changed. */
export type Migrated = {
  /** The names of the files of SQL that were applied. */
  readonly applied: readonly string[]
  /** Absent: TEMPORAL_ADDRESS is not set. */
  readonly temporal: MigratedTemporal | undefined
}

export type MigratedTemporal = {
  readonly namespace: string
  readonly state: 'made' | 'lengthened' | 'present'
  /** The names of those that were added. */
  readonly search_attributes: readonly string[]
}

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
