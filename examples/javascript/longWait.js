// Waits for a task with `Prefer: wait`: each lookup is held until the task has ended, for 30 seconds at most.
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const base = process.env.DARKROOM_URL ?? 'http://127.0.0.1:8080'
const authorization = `Bearer ${process.env.DARKROOM_API_KEY}`

const submitted = await fetch(`${base}/v1/images/tasks`, {
  method: 'POST',
  headers: { authorization, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
  body: JSON.stringify({
    model: 'familyb-image-2-vip',
    action: 'generate',
    prompt: 'A lighthouse at dusk',
  }),
  signal: AbortSignal.timeout(30_000),
})
if (!submitted.ok) throw new Error(`${submitted.status} ${await submitted.text()}`)
const { task_id: taskId } = await submitted.json()

let record
// A service that stops answers early. The pause keeps this loop from asking again at once.
for (const deadline = Date.now() + 30 * 60_000; ; await sleep(1_000)) {
  const answer = await fetch(`${base}/v1/tasks/${taskId}`, {
    headers: { authorization, prefer: 'wait=30' },
    signal: AbortSignal.timeout(60_000),
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  record = await answer.json()
  if (['succeeded', 'completed', 'failed', 'expired'].includes(record.status)) break
  if (Date.now() > deadline) throw new Error(`${taskId} has not ended`)
}
if (record.output === undefined) throw new Error(`${record.status}: ${record.error?.message}`)
const image = await fetch(record.output.assets[0].url, { signal: AbortSignal.timeout(60_000) })
await writeFile('image.png', Buffer.from(await image.arrayBuffer()))
console.log(`${taskId} succeeded: image.png`)
