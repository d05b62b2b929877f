// Receives Darkroom's webhooks and prints each event once. See README.md.
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const { WEBHOOK_SECRET = '', PORT = '4000' } = process.env
const webhook = new Webhook(WEBHOOK_SECRET)
const bodyBytesMax = 1024 * 1024
/** In production: a unique column in your database. */
const seen = new Set()

/** Handles one event. Answer first, and do long work afterwards. */
function handle(event) {
  console.log(`${event.type} ${event.data.task_id ?? ''}`)
}

async function readBody(request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) throw new Error('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const server = createServer(async (request, response) => {
  let event
  try {
    // Throws when the signature is wrong, and when the timestamp is more than five minutes away from now.
    event = webhook.verify(await readBody(request), request.headers)
  } catch (error) {
    console.error(`refused: ${error.message}`)
    response.writeHead(400).end()
    return
  }
  const id = request.headers['webhook-id']
  if (!seen.has(id)) {
    seen.add(id)
    handle(event)
  }
  response.writeHead(204).end()
})
server.listen(Number(PORT), '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
