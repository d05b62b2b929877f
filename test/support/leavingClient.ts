import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { Client } from './client.ts'

export type RawCall = { readonly path: string; readonly body: object }

/** Opens a connection of its own and sends a POST on it, or only its head and half of its body. */
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

/** The two ways a connection ends: politely, or as when a client dies. */
export const leaving = {
  FIN: (socket: Socket) => void socket.end(),
  RST: (socket: Socket) => void socket.resetAndDestroy(),
} as const
