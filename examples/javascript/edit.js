// Edits images with a task: one to 16 files of at most 20 MiB each. IMAGE names one PNG file; for JPEG and WebP change
// `mime_type`.
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const base = process.env.DARKROOM_URL ?? 'http://127.0.0.1:8080'
const authorization = `Bearer ${process.env.DARKROOM_API_KEY}`

const submitted = await fetch(`${base}/v1/images/tasks`, {
  method: 'POST',
  headers: { authorization, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
  body: JSON.stringify({
    model: 'familyb-image-2-vip',
    action: 'edit',
    prompt: 'Make the sky red',
    input_images: [{ mime_type: 'image/png', data: await readFile(process.env.IMAGE, 'base64') }],
  }),
  signal: AbortSignal.timeout(120_000),
})
if (!submitted.ok) throw new Error(`${submitted.status} ${await submitted.text()}`)
const { task_id: taskId } = await submitted.json()

let record
for (const deadline = Date.now() + 30 * 60_000; ; await sleep(3_000)) {
  const answer = await fetch(`${base}/v1/tasks/${taskId}`, {
    headers: { authorization },
    signal: AbortSignal.timeout(30_000),
  })
  record = await answer.json()
  if (['succeeded', 'completed', 'failed', 'expired'].includes(record.status)) break
  if (Date.now() > deadline) throw new Error(`${taskId} has not ended`)
}
if (record.output === undefined) throw new Error(`${record.status}: ${record.error?.message}`)
const image = await fetch(record.output.assets[0].url, { signal: AbortSignal.timeout(60_000) })
await writeFile('edited.png', Buffer.from(await image.arrayBuffer()))
console.log(`${taskId} succeeded: edited.png`)
