/**
 * How an activity ended, as one word for its span. Activities answer and throw only our own small
 * enumerations (`activities/`); anything else is named by its kind, never by what it says.
 */
export function outcomeOf(value: unknown): string {
  if (typeof value === 'string' && isWord(value)) return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'object' || value === null || !('outcome' in value)) return 'done'
  return typeof value.outcome === 'string' && isWord(value.outcome) ? value.outcome : 'done'
}

/** The type of an `ApplicationFailure`. `expected`: a wait or the end of a task, no fault of ours. */
export function failureClass(error: unknown): {
  readonly name: string
  readonly expected: boolean
} {
  const type = error instanceof Error && 'type' in error ? error.type : undefined
  const name = typeof type === 'string' && isWord(type) ? type : 'Error'
  const category = error instanceof Error && 'category' in error ? error.category : undefined
  return { name, expected: category === 'BENIGN' }
}

function isWord(text: string): boolean {
  return /^[A-Za-z_]{1,40}$/.test(text)
}
