const textCharactersMax = 4096

/** The body with every long text, and so every image, replaced by its length. */
export function summarizeBody(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length <= textCharactersMax ? value : `<${value.length} characters>`
  }
  if (Array.isArray(value)) return value.map(summarizeBody)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, summarizeBody(item)]))
}
