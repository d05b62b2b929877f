// node constantUpstream.ts IMAGE_FOLDER serves OpenAI's image routes as cheaply as possible: it reads the
// request, and sends an image of the size and after the time that the prompt says: "4096 bytes after 0 ms".
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

const [folder = ''] = process.argv.slice(2)
const bodies = new Map<string, Buffer>()

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const [, bytes = '4096', latencyMs = '0'] =
      /(\d+) bytes after (\d+) ms/.exec(Buffer.concat(chunks).toString('latin1')) ?? []
    setTimeout(() => {
      const body = bodyOf(bytes)
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': body.length,
      })
      response.end(body)
    }, Number(latencyMs))
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.once('disconnect', () => process.exit())

function bodyOf(bytes: string): Buffer {
  const known = bodies.get(bytes)
  if (known !== undefined) return known
  const image = readFileSync(join(folder, `${bytes}.png`)).toString('base64')
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const body = Buffer.from(JSON.stringify({ created: 1, data: [{ b64_json: image }], usage }))
  bodies.set(bytes, body)
  return body
}
