// Submits a task, polls it with a deadline, and downloads the image. DARKROOM_API_KEY is your API key.
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const base = process.env.DARKROOM_URL ?? 'http://127.0.0.1:8080'
const authorization = `Bearer ${process.env.DARKROOM_API_KEY}`
const triesMax = 5

/** Sends a request at most five times. Each try of a submit has the same key, so it is the same task. */
async function send(path, { headers, ...init } = {}) {
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(base + path, {
      ...init,
      headers: { authorization, ...headers },
      signal: AbortSignal.timeout(30_000),
    }).catch((error) => {
      if (tries === triesMax) throw error
    })
    if (answer?.ok) return answer
    const mayRetry = answer === undefined || answer.status === 429 || answer.status >= 500
    if (!mayRetry || tries === triesMax || answer?.headers.get('x-should-retry') === 'false') {
      throw new Error(`${answer?.status} ${await answer?.text()}`)
    }
    const seconds = Number(answer?.headers.get('retry-after') ?? 2 ** tries)
    await sleep(Math.min(seconds, 60) * 1000)
  }
}

const submitted = await send('/v1/images/tasks', {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
  body: JSON.stringify({
    model: 'familyb-image-2-vip',
    action: 'generate',
    prompt: 'A lighthouse at dusk',
  }),
})
const { task_id: taskId } = await submitted.json()

const deadline = Date.now() + 30 * 60_000
let record
for (;;) {
  const answer = await send(`/v1/tasks/${taskId}`)
  record = await answer.json()
  if (['succeeded', 'completed', 'failed', 'expired'].includes(record.status)) break
  if (Date.now() > deadline) throw new Error(`${taskId} has not ended`)
  await sleep(Number(answer.headers.get('retry-after') ?? 3) * 1000)
}
if (record.output === undefined) throw new Error(`${record.status}: ${record.error?.message}`)

// The address is signed: it works without the API key.
const image = await fetch(record.output.assets[0].url, { signal: AbortSignal.timeout(60_000) })
if (!image.ok) throw new Error(`${image.status} ${await image.text()}`)
await writeFile('image.png', Buffer.from(await image.arrayBuffer()))
console.log(`${taskId} succeeded: image.png`)
