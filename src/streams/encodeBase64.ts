/** Standard padded base64 of a byte stream, a few tens of KiB at a time, as ASCII bytes ready to send. */
export async function* encodeBase64(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let carry = Buffer.alloc(0)
  for await (const chunk of content) {
    const whole = carry.length === 0 ? asBuffer(chunk) : Buffer.concat([carry, chunk])
    const usable = whole.length - (whole.length % 3)
    // A copy: the chunk's memory may be used again by whoever yielded it.
    carry = Buffer.from(whole.subarray(usable))
    if (usable > 0) yield Buffer.from(whole.toString('base64', 0, usable), 'latin1')
  }
  if (carry.length > 0) yield Buffer.from(carry.toString('base64'), 'latin1')
}

/** Characters of the base64 text of so many bytes: the exact Content-Length needs it beforehand. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}
