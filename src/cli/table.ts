/** Rows under headings, columns two spaces apart; numbers to the right. Of no rows: the given sentence. */
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
  const line = (row: readonly string[], numeric: readonly boolean[]) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return numeric[column] === true ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  const numeric = headings.map((_heading, column) =>
    rows.every((row) => typeof row[column] === 'number'),
  )
  return [line(headings, numeric), ...cells.map((row) => line(row, numeric))].join('\n')
}

/** Names and values below each other; absent values are left out. */
export function fields(values: Readonly<Record<string, string | number | undefined>>): string {
  const present = Object.entries(values).filter(([, value]) => value !== undefined)
  const width = Math.max(...present.map(([name]) => name.length))
  return present.map(([name, value]) => `${name.padEnd(width)}  ${String(value)}`).join('\n')
}
