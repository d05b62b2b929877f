/**
 * Receives webhooks, and keeps the image of each task that succeeded.
 *
 *     DARKROOM_WEBHOOK_SECRET=whsec_… PORT=4000 node receiver.ts images
 *
 * A delivery may come twice: its image is then there. One that cannot be kept is answered with 503, and comes again.
 */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { TaskRecord } from 'darkroom-client'
import { Darkroom, DarkroomError } from 'darkroom-client'

const [folder = ''] = process.argv.slice(2)
const bodyBytesMax = 1_048_576
const keepMs = 10_000
const darkroom = new Darkroom()
await mkdir(folder, { recursive: true })

async function keep(task: TaskRecord): Promise<void> {
  const path = join(folder, `${task.task_id}.png`)
  if (existsSync(path)) return
  await darkroom.images.of(task).save(path, { timeoutMs: keepMs })
  console.log(path)
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) throw new Error('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Returns the status of the answer. */
async function receive(request: IncomingMessage): Promise<number> {
  try {
    const event = await darkroom.webhooks.unwrap(await readBody(request), request.headers)
    if (event.type === 'task.succeeded') await keep(event.data)
    return 204
  } catch (error) {
    const isForged = error instanceof DarkroomError && error.code === 'invalid_signature'
    console.log(`${isForged ? 'refused' : 'not kept'}: ${String(error)}`)
    return isForged ? 400 : 503
  }
}

const server = createServer((request, response) => {
  void receive(request).then((status) => response.writeHead(status).end())
})
server.listen(Number(process.env['PORT'] ?? 4_000), '127.0.0.1', () => {
  console.log('listening on', Object(server.address()).port)
})
