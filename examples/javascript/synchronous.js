// Generates an image and edits it, each in one call that waits for the image. Family B.
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'

const base = process.env.DARKROOM_URL ?? 'http://127.0.0.1:8080'
const authorization = `Bearer ${process.env.DARKROOM_API_KEY}`

/** A call may take minutes. When the connection breaks, send the call again with the same key. */
async function call(path, body, headers = {}) {
  const answer = await fetch(base + path, {
    method: 'POST',
    headers: { authorization, 'idempotency-key': randomUUID(), ...headers },
    body,
    signal: AbortSignal.timeout(300_000),
  })
  if (!answer.ok) {
    const task = answer.headers.get('x-task-id')
    throw new Error(`${answer.status} ${await answer.text()} ${task}`)
  }
  const { data } = await answer.json()
  return Buffer.from(data[0].b64_json, 'base64')
}

const model = 'familyb-image-2-vip'
const image = await call(
  '/v1/images/generations',
  JSON.stringify({ model, prompt: 'A lighthouse at dusk', size: '1024x1024' }),
  { 'content-type': 'application/json' },
)
const form = new FormData()
form.set('model', model)
form.set('prompt', 'Make the sky red')
form.set('image', new Blob([image], { type: 'image/png' }), 'image.png')
const edited = await call('/v1/images/edits', form)
await writeFile('image.png', image)
await writeFile('edited.png', edited)
console.log('image.png, edited.png')
