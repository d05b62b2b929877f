import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { collect } from '../byteStreams.ts'
import type { Client } from './client.ts'

export type Posted = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/**
 * Sends a body piece by piece, so that the sender never holds a large body in memory, and reads the answer
 * also when it arrives before the end of the body. Without `content-length` the body is sent in chunks.
 */
export async function postStream(
  url: string,
  headers: Readonly<Record<string, string>>,
  content: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
): Promise<Posted> {
  const { promise, resolve, reject } = Promise.withResolvers<Posted>()
  const sent = request(url, { method: 'POST', headers, agent: false })
  sent.on('response', (answer) => {
    readAnswer(answer)
      .then(resolve, reject)
      .finally(() => sent.destroy())
  })
  // The server may refuse and close while the body is being sent. Only a close without an answer is an error.
  sent.on('close', () => reject(new Error('closed without an answer')))
  await pipeline(Readable.from(content), sent).catch(() => undefined)
  return promise
}

async function readAnswer(answer: IncomingMessage): Promise<Posted> {
  const body = await collect(answer)
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: body.toString() }
}

export type RawCall = { readonly path: string; readonly body: object }

/** Opens a connection and sends a POST with an idempotency key. `half`: only the head and half of the body. */
export function openCall(
  client: Pick<Client, 'url' | 'authorization'>,
  { path, body }: RawCall,
  options: { readonly key: string; readonly half: boolean },
): Socket {
  const text = JSON.stringify(body)
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: ${client.authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${text.length}`,
    `Idempotency-Key: ${options.key}`,
  ].join('\r\n')
  const socket = connect(Number(new URL(client.url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`${head}\r\n\r\n${options.half ? text.slice(0, text.length / 2) : text}`)
  return socket
}

/** The two ways in which a client ends its connection: it closes it, or it resets it. */
export const leaving = {
  FIN: (socket: Socket) => void socket.end(),
  RST: (socket: Socket) => void socket.resetAndDestroy(),
} as const

/** Writes the bytes unchanged and returns everything that the server sends until it closes, as latin1. */
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

/** A POST of JSON with the given header lines. It asks the server to close the connection afterwards. */
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
