// Follows a task by server-sent events until it has ended, and resumes a stream that breaks. It uses fetch,
// because EventSource cannot send the Authorization header.
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
let lastId
const deadline = Date.now() + 30 * 60_000

/** Reads one stream, from the event after `lastId` on. */
async function follow() {
  const resume = lastId === undefined ? {} : { 'last-event-id': lastId }
  const answer = await fetch(`${base}/v1/tasks/${taskId}/events`, {
    headers: { authorization, ...resume },
    signal: AbortSignal.timeout(deadline - Date.now()),
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  let text = ''
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    text += piece
    const events = text.split('\n\n')
    text = events.pop()
    for (const event of events) {
      const [, data] = /^data: (.*)$/m.exec(event) ?? []
      if (data === undefined) continue
      lastId = /^id: (.*)$/m.exec(event)?.[1]
      record = JSON.parse(data)
      console.log(record.status, record.progress, '%')
    }
  }
}

while (!['succeeded', 'failed', 'expired'].includes(record?.status)) {
  if (Date.now() > deadline) throw new Error(`${taskId} has not ended`)
  await follow().catch((error) => console.error(String(error)))
  if (record?.completed_at === undefined) await sleep(2_000)
}
if (record.output === undefined) throw new Error(`${record.status}: ${record.error?.message}`)
const image = await fetch(record.output.assets[0].url, { signal: AbortSignal.timeout(60_000) })
await writeFile('image.png', Buffer.from(await image.arrayBuffer()))
console.log(`${taskId} succeeded: image.png`)
