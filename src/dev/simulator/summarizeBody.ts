import { digestOf } from './callLog.ts'

const textCharsMax = 4096

/** The body with every long text, and so every image, replaced by its length and SHA-256. */
export function summarizeBody(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length <= textCharsMax
      ? value
      : `<${value.length} characters, sha256 ${digestOf(value)}>`
  }
  if (Array.isArray(value)) return value.map(summarizeBody)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, summarizeBody(item)]))
}
