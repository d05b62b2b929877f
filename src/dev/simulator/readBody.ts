import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export type Body = { readonly bytes: Buffer; readonly sha256: string }

/** The largest body taken: 64 MiB of images as base64 with room to spare. */
export const bodyBytesMax = 256 * 1024 * 1024

/** The whole body, or null when it was too large: read to its end all the same, so that an answer arrives. */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number = bodyBytesMax,
): Promise<Body | null> {
  const hash = createHash('sha256')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bytesMax) continue
    hash.update(chunk)
    chunks.push(chunk)
  }
  if (size > bytesMax) return null
  return { bytes: Buffer.concat(chunks), sha256: hash.digest('hex') }
}

/** A body read as JSON: undefined when it is none. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
