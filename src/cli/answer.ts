/** The answer of a command. `runCli` prints `json` with `--json`, and otherwise `text`. */
export type Answer = {
  readonly json: unknown
  readonly text: string
  /** 1 when the command found a problem or refused to act, although it has an answer. Default: 0. */
  readonly exitCode?: 0 | 1
}

/**
 * Thrown when a command cannot do what the operator asks, for example because there is no such task or because
 * Temporal cannot be reached. The message is a sentence for the operator. `runCli` prints it and exits with code 1,
 * as it does for every other error of a command, except for wrong usage.
 */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** Returns the error for an account name that does not exist. */
export function noSuchAccount(name: string): CommandError {
  return new CommandError(`There is no account named ${JSON.stringify(name)}.`)
}

/** Returns the error for a task id that does not exist. A task that was purged does not exist any more. */
export function noSuchTask(taskId: string): CommandError {
  return new CommandError(`There is no task ${taskId}.`)
}

/**
 * Formats rows as a table with headings and two spaces between columns. Aligns a column to the right if all its
 * values are numbers, and to the left otherwise. Shows a missing value as `-`. Returns `whenEmpty` if there are no
 * rows.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
  whenEmpty: string,
): string {
  if (rows.length === 0) return whenEmpty
  const cells = rows.map((row) => row.map((cell) => String(cell ?? '-')))
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => row[column]?.length ?? 0)),
  )
  const numeric = headings.map((_heading, column) =>
    rows.every((row) => typeof row[column] === 'number'),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return numeric[column] === true ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  return [headings, ...cells].map(line).join('\n')
}

/** Formats one line per field, as `name  value`. Aligns the values. */
export function fields(values: Readonly<Record<string, string | number>>): string {
  const entries = Object.entries(values)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

/** Returns a time for JSON answers: ISO 8601, UTC, with milliseconds. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** Returns the same as `isoTime`, or `null` if there is no such time. For fields that are always present. */
export function isoTimeOrNull(atMs: number | undefined): string | null {
  return atMs === undefined ? null : isoTime(atMs)
}

/** Returns a time for text answers: UTC, to the second. Returns `undefined` if there is no such time. */
export function shortTime(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : isoTime(atMs).slice(0, 19).replace('T', ' ')
}
