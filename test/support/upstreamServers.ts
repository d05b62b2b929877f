import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import { collect } from './byteStreams.ts'
import { listen, portOf } from './httpServer.ts'
import { redPixelPng } from './images.ts'

/** An answer of family B as it should be. */
export const goodAnswer = JSON.stringify({
  created: 1,
  data: [{ b64_json: redPixelPng.toString('base64') }],
})

/** A raw TCP server; `serve` sees every connection. */
export async function listenRaw(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
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

/** Answers once the whole request has been read. */
export async function listenAnswering(
  answer: (response: ServerResponse, request: IncomingMessage, count: number) => void,
): Promise<{ url: string; count: () => number }> {
  let count = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    count += 1
    await collect(request)
    answer(response, request, count)
  }
  const url = await listen((request, response) => void serve(request, response).catch(() => {}))
  return { url, count: () => count }
}
