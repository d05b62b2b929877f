// Sends one submit twice, as after a lost answer: both name the same task, and one is paid for.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'

const base = process.env.DARKROOM_URL ?? 'http://127.0.0.1:8080'
// Make the key when you decide to buy the image, keep it with your order, and send it with every try.
const key = randomUUID()

function submit(prompt) {
  return fetch(`${base}/v1/images/tasks`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${process.env.DARKROOM_API_KEY}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify({ model: 'familyb-image-2-vip', action: 'generate', prompt }),
    signal: AbortSignal.timeout(30_000),
  })
}

const first = await submit('A lighthouse')
const second = await submit('A lighthouse')
assert.equal(second.headers.get('idempotent-replayed'), 'true')
const task = await first.json()
assert.deepEqual(await second.json(), task)
console.log(`${task.task_id} was submitted once`)

// The same key with another request is a 409. A new request needs a new key.
const { status } = await submit('A harbour')
console.log(`another request with this key: ${status}`)
