import type { Base64Decoder } from '../../src/streams/base64.ts'

/** Yields the chunks one after the other, each on a later turn of the event loop. */
export async function* streamOf(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    await Promise.resolve()
    yield chunk
  }
}

export async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of content) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The same bytes cut at the given places; places beyond the end and doubles are harmless. */
export function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [0, ...places.filter((place) => place < bytes.length), bytes.length]
  const sorted = cuts.toSorted((a, b) => a - b)
  return sorted.slice(1).map((end, i) => bytes.subarray(sorted[i], end))
}

/** The bytes of a text that comes in pieces; `undefined` when the decoder refuses any of it. */
export function decodePieces(
  decoder: Base64Decoder,
  pieces: readonly string[],
): Buffer | undefined {
  const decoded: Uint8Array[] = []
  for (const piece of pieces) {
    const bytes = decoder.push(piece)
    if (bytes === undefined) return undefined
    decoded.push(bytes)
  }
  const last = decoder.end()
  return last === undefined ? undefined : Buffer.concat([...decoded, last])
}
