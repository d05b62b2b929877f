import type { Answer } from './send.ts'

const lengthMax = 128

/** The answer's `x-request-id`, harmless to log: only letters, digits and a few signs of it are kept. */
export function upstreamRequestId(headers: Answer['headers']): string | undefined {
  const value = headers['x-request-id']
  const text = Array.isArray(value) ? value[0] : value
  const safe = text?.replaceAll(/[^0-9A-Za-z._:/=+-]/g, '').slice(0, lengthMax)
  return safe === '' ? undefined : safe
}
