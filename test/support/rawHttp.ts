import { once } from 'node:events'
import { connect } from 'node:net'

/** Writes bytes as they are and gives back all that the server says until it closes, as latin1. */
export async function sendRaw(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

/** A POST of JSON whose header lines are sent as the given bytes, on a connection that closes after it. */
export function rawPost(
  path: string,
  headerLines: readonly string[],
  body: unknown,
  encoding: BufferEncoding = 'latin1',
): Buffer {
  const content = Buffer.from(JSON.stringify(body))
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: darkroom',
    'Content-Type: application/json',
    `Content-Length: ${content.length}`,
    'Connection: close',
    ...headerLines,
    '',
    '',
  ].join('\r\n')
  return Buffer.concat([Buffer.from(head, encoding), content])
}
