/** Yields each chunk in a later microtask, so that the consumer never gets all chunks synchronously. */
export async function* streamOf(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    await Promise.resolve()
    yield chunk
  }
}

/** Reads the whole stream into one buffer. */
export async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of content) chunks.push(chunk)
  return Buffer.concat(chunks)
}
