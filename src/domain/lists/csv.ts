/**
 * Returns lines of CSV (RFC 4180). A text that a spreadsheet would read as a formula gets an apostrophe before it, which
 * the spreadsheet does not show. An absent value is an empty cell.
 */
export function csvOf(lines: readonly (readonly (string | number | null | undefined)[])[]): string {
  return lines.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('')
}

function cellOf(value: string | number | null | undefined): string {
  if (typeof value !== 'string') return String(value ?? '')
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
