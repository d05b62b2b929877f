import type { Result } from '../domain/result.ts'
import type { OperationFailure } from '../operations/operation.ts'
import { failureText } from '../operations/operation.ts'
import { printableCell } from './printable.ts'

/** The answer of a command. `runCli` prints `json` with `--json`, and otherwise `text`. */
export type Answer = {
  readonly json: unknown
  readonly text: string
  /** What else to say, on stderr: the answer is not all there is. */
  readonly note?: string
  /** 1 when the command found a problem or refused to act, although it has an answer. Default: 0. */
  readonly exitCode?: 0 | 1
}

/** Returns what an operation did, or throws the reason why it was not done, which `runCli` prints. */
export function valueOf<Value>(result: Result<Value, OperationFailure>): Value {
  if (!result.ok) throw new Error(failureText(result.failure))
  return result.value
}

/**
 * Formats rows as a table with headings and two spaces between columns. Aligns a column to the right if all its
 * values are numbers. Shows a missing value as `-`. Returns `whenEmpty` if there are no rows.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number | null | undefined)[])[],
  whenEmpty: string,
): string {
  if (rows.length === 0) return whenEmpty
  const cells = [
    headings,
    ...rows.map((row) => row.map((cell) => printableCell(String(cell ?? '-')))),
  ]
  const columns = headings.map((_heading, column) => ({
    width: Math.max(...cells.map((row) => row[column]?.length ?? 0)),
    isNumeric: rows.every((row) => typeof row[column] === 'number'),
  }))
  return cells
    .map((row) =>
      columns
        .map(({ width, isNumeric }, column) => {
          const cell = row[column] ?? ''
          return isNumeric ? cell.padStart(width) : cell.padEnd(width)
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Formats one line per field, as `name  value`. Aligns the values. */
export function fields(values: Readonly<Record<string, string | number>>): string {
  const entries = Object.entries(values)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries
    .map(([name, value]) => `${name.padEnd(width)}  ${printableCell(String(value))}`)
    .join('\n')
}

/** Returns a time of a JSON answer for text: UTC, to the second. Returns `undefined` if there is no such time. */
export function shortTime(time: string | null | undefined): string | undefined {
  return time?.slice(0, 19).replace('T', ' ')
}
