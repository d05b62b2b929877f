import type { Base64Decoder } from '../../src/streams/base64.ts'

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
