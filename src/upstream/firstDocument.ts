/**
 * An answer up to the end of the first JSON object or array in it; then `source` is let go of. What is
 * said is said by then: neither garbage behind it, nor a connection that breaks or never ends, takes a
 * paid image away. Any other text goes through as it is.
 */
export async function* firstDocument(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const endIn = createEndFinder()
  for await (const chunk of source) {
    const end = endIn(chunk)
    yield chunk.subarray(0, end)
    if (end !== undefined) return
  }
}

const quote = 0x22
const backslash = 0x5c

/** Told chunk after chunk: where in it the document ends, once it does. */
function createEndFinder(): (chunk: Uint8Array) => number | undefined {
  let depth = 0
  let quoted = false
  let escaped = false
  return (chunk) => {
    // Nearly all chunks lie inside an image.
    if (quoted && !escaped && !chunk.includes(quote) && !chunk.includes(backslash)) return undefined
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0
      if (escaped) escaped = false
      else if (quoted) {
        quoted = byte !== quote
        escaped = byte === backslash
      } else if (byte === quote) quoted = true
      else if (opens(byte)) depth += 1
      else if (closes(byte)) {
        depth -= 1
        if (depth <= 0) return at + 1
      }
    }
    return undefined
  }
}

/** `{` or `[` */
function opens(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b
}

/** `}` or `]` */
function closes(byte: number): boolean {
  return byte === 0x7d || byte === 0x5d
}
