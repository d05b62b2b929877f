import { once } from 'node:events'
import type { IncomingMessage, ServerResponse, RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { Socket, Server } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { onTestFinished } from 'vitest'
import { collect } from '../byteStreams.ts'
import { redPixelPng } from '../images.ts'
import type { Finished } from '../useFinished.ts'

/** Starts an HTTP server for the running test on a free port and returns its URL. Concurrent tests give their own hook. */
export async function listen(
  handle: RequestListener,
  finished: Finished = onTestFinished,
): Promise<string> {
  const server = createServer(handle)
  finished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${await portOf(server)}`
}

/** Starts an HTTP server for the running test that calls `answer` once the whole request was read. */
export async function listenAnswering(
  answer: (response: ServerResponse, request: IncomingMessage, count: number) => void,
  finished?: Finished,
): Promise<{ url: string; count: () => number }> {
  let count = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    count += 1
    await collect(request)
    answer(response, request, count)
  }
  const handle: RequestListener = (request, response) =>
    void serve(request, response).catch(() => {})
  const url = await listen(handle, finished)
  return { url, count: () => count }
}

/** Starts a TCP server for the running test and returns HOST:PORT. `serve` gets every connection. */
export async function listenRaw(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `127.0.0.1:${await portOf(server)}`
}

/** Starts the server on a free port of 127.0.0.1 and returns the port. */
export async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new Error('Bug: a TCP server has a port')
  return address.port
}

/** A valid answer of family B. */
export const goodAnswer = JSON.stringify({
  created: 1,
  data: [{ b64_json: redPixelPng.toString('base64') }],
})
