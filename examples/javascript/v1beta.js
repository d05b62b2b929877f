// Generates an image with generateContent. Family A.
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'

const base = process.env.DARKROOM_URL ?? 'http://127.0.0.1:8080'
const answer = await fetch(`${base}/v1beta/models/familya-3-pro-image:generateContent`, {
  method: 'POST',
  headers: {
    authorization: `Bearer ${process.env.DARKROOM_API_KEY}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  },
  body: JSON.stringify({
    contents: [{ parts: [{ text: 'A lighthouse at dusk' }] }],
    generationConfig: { imageConfig: { aspectRatio: '16:9', imageSize: '1K' } },
  }),
  signal: AbortSignal.timeout(300_000),
})
if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
const document = await answer.json()
const parts = (document.candidates ?? []).flatMap(({ content }) => content?.parts ?? [])
const image = parts.find((part) => part.inlineData !== undefined)?.inlineData
// A refusal of the model is a 200 without an image: finishReason or blockReason says why.
if (image === undefined) throw new Error(JSON.stringify(document))
await writeFile('image.png', Buffer.from(image.data, 'base64'))
console.log('image.png')
