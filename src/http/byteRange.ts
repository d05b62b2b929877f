/** Both ends inclusive. */
export type ByteRange = { readonly first: number; readonly last: number }

const singleRange = /^bytes=\s*(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))\s*$/i

/**
 * One range of `bytes` long content (RFC 9110 section 14). Several ranges, other units and anything not
 * understood are ignored, as the RFC allows: then the whole is sent.
 */
export function parseRange(
  header: string | undefined,
  bytes: number,
): ByteRange | 'whole' | 'unsatisfiable' {
  const match = singleRange.exec(header ?? '')
  if (match === null) return 'whole'
  const [, first, last, suffix] = match
  if (first === undefined) return suffixRange(Number(suffix), bytes)
  const from = Number(first)
  const to = last === undefined || last === '' ? Number.MAX_SAFE_INTEGER : Number(last)
  if (to < from) return 'whole'
  return from < bytes ? { first: from, last: Math.min(to, bytes - 1) } : 'unsatisfiable'
}

function suffixRange(length: number, bytes: number): ByteRange | 'unsatisfiable' {
  if (length === 0 || bytes === 0) return 'unsatisfiable'
  return { first: Math.max(0, bytes - length), last: bytes - 1 }
}
