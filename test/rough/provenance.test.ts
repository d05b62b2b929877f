import { afterAll, describe, expect, it } from 'vitest'
import sharp from 'sharp'
import { startS3Server } from '../support/blobs/s3Server.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { nativeImages } from '../support/clients/responses.ts'
import * as call from '../support/clients/syncCalls.ts'
import { paddedPng } from '../support/images.ts'
import { startTestService } from '../support/service/testService.ts'

/** A PNG that says where it comes from, in the chunk of C2PA. */
const signed = paddedPng(300_000, 7, 'caBX')
const s3 = await startS3Server()
const inBucket = { ...s3.environment, BLOB_STORE: `s3://${s3.bucket}`, ASSET_REDIRECT: 'on' }
const services = await Promise.all(
  [{}, inBucket].map((environment) =>
    startTestService({ environment, simulator: { image: signed } }),
  ),
)
const [onFiles, onS3] = services

afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()))
  await s3.stop()
})

const bytesAt = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer())

describe.each([
  ['files', onFiles],
  ['S3', onS3],
])('on %s', (_name, service) => {
  if (service === undefined) throw new Error('no service')
  const open = async () => createClient(service.url, (await service.account()).secret)

  it('a PNG comes out byte for byte, with the chunk that says where it comes from [asset-9]', async () => {
    const client = await open()
    const data = signed.toString('base64')
    const answer = await call.generate(client, { prompt: 'signed' })
    expect(JSON.parse(await call.textOf200(answer))).toMatchObject({ data: [{ b64_json: data }] })
    const stream = await call.generate(client, { prompt: 'signed, streamed', stream: true })
    expect(await call.textOf200(stream)).toContain(`"b64_json":"${data}"`)
    for (const [family, model] of [
      ['A', 'familya-3-pro-image'],
      ['B', 'familyb-image-2-web'],
    ] as const) {
      const { task_id } = await client.accepted(generateBody({ model, prompt: `signed ${family}` }))
      const url = (await client.ended(task_id)).output?.assets[0]?.url ?? ''
      expect((await bytesAt(url)).equals(signed)).toBe(true)
      expect((await fetch(`${url}&original=true`)).status).toBe(404)
      const { find, inside } = nativeImages[family]
      const result: unknown = JSON.parse(await call.resultText(client, task_id))
      expect(find(result)).toMatchObject(inside({ url, mimeType: 'image/png', data }))
    }
  })

  it('a variant is read by 64 at once, and is the same afterwards [asset-7]', async () => {
    const client = await open()
    const { task_id } = await client.accepted(generateBody({ prompt: 'small' }))
    const url = (await client.ended(task_id)).output?.assets[0]?.url ?? ''
    const small = `${url}&width=128&format=webp`
    const read = await Promise.all(Array.from({ length: 64 }, () => bytesAt(small)))
    const [first = Buffer.alloc(0)] = read
    expect((await sharp(first).metadata()).format).toBe('webp')
    expect([...read, await bytesAt(small)].every((each) => each.equals(first))).toBe(true)
    expect((await fetch(small, { redirect: 'manual' })).status).toBe(service === onS3 ? 307 : 200)
  })
})

it('what a vendor sent in another format is kept at `original=true`, and the image is a PNG [asset-9]', async () => {
  if (onFiles === undefined) throw new Error('no service')
  const jpeg = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'teal' } })
    .jpeg()
    .toBuffer()
  const service = await startTestService({ simulator: { image: jpeg } })
  try {
    const client = createClient(service.url, (await service.account()).secret)
    const { task_id } = await client.accepted(generateBody({ prompt: 'as JPEG' }))
    const url = (await client.ended(task_id)).output?.assets[0]?.url ?? ''
    expect((await bytesAt(`${url}&original=true`)).equals(jpeg)).toBe(true)
    expect((await sharp(await bytesAt(url)).metadata()).format).toBe('png')
  } finally {
    await service.stop()
  }
})
