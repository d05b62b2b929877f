// node constantUpstream.ts PORT serves the image routes of family B as cheaply as possible: it reads and
// forgets the request, and sends an image of the size and after the time that its text says: "4096 bytes
// after 0 ms".
import { createServer } from 'node:http'
import { paddedPng } from '../../test/support/images.ts'

/** The prompt stands this early in a request. */
const headBytes = 4096
const bodies = new Map<number, Buffer>()

const server = createServer((request, response) => {
  let head = ''
  request.on('data', (chunk: Buffer) => {
    if (head.length < headBytes) head += chunk.toString('latin1', 0, headBytes)
  })
  request.on('end', () => {
    const [, bytes = 4096, latencyMs = 0] = /(\d+) bytes after (\d+) ms/.exec(head) ?? []
    setTimeout(() => {
      const body = bodyOf(Number(bytes))
      response.setHeader('content-type', 'application/json')
      response.setHeader('content-length', body.length)
      response.end(body)
    }, Number(latencyMs))
  })
})
server.keepAliveTimeout = 60_000
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 })

function bodyOf(bytes: number): Buffer {
  const image = () => paddedPng(bytes, 7).toString('base64')
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const body =
    bodies.get(bytes) ??
    Buffer.from(JSON.stringify({ created: 1, data: [{ b64_json: image() }], usage }))
  bodies.set(bytes, body)
  return body
}
