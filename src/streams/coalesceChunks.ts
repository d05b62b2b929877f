/**
 * The same bytes in chunks of at least `bytesMin`, but for the last. A peer that sends single bytes
 * would otherwise make every later step cost as much per byte as it does per chunk.
 */
export async function* coalesceChunks(
  source: AsyncIterable<Uint8Array>,
  bytesMin: number,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of source) {
    held.push(chunk)
    bytes += chunk.length
    if (bytes < bytesMin) continue
    yield held.length === 1 ? chunk : Buffer.concat(held)
    held = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(held)
}
