import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { OpenBlobStore } from '../../../src/blobs/openBlobStore.ts'
import { openBlobStore } from '../../../src/blobs/openBlobStore.ts'
import { generateBody } from '../../support/clients/requestBodies.ts'
import { taskRecordResponse } from '../../support/clients/responses.ts'
import type { TestApi } from '../../support/http/testApi.ts'
import { startTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'
import type { S3Server } from '../../support/blobs/s3Server.ts'
import { s3ServerStartMsMax, startS3Server } from '../../support/blobs/s3Server.ts'

let server: S3Server
let blobStore: OpenBlobStore
let api: TestApi
let taskId: string
/** The signed address of an image in the bucket. */
let asset: string

beforeAll(async () => {
  server = await startS3Server()
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value)
  blobStore = await openBlobStore(`s3://${server.bucket}/redirected`, randomBytes)
  api = await startTestApi({ assetRedirect: true }, { blobs: blobStore.store })
  await (await api.postJson('/v1/images/tasks', generateBody())).text()
  taskId = api.tasks.newestId()
  await api.tasks.succeed(taskId)
  for (const [key, bytes] of api.blobs.content) await blobStore.store.put([key, bytes])
  const record = taskRecordResponse.parse(await (await api.send(`/v1/tasks/${taskId}`)).json())
  asset = (record.output?.assets[0]?.url ?? '').replace('https://images.example.test', api.url)
}, s3ServerStartMsMax)

afterAll(async () => {
  vi.unstubAllEnvs()
  await api.close()
  await blobStore.close()
  await server.stop()
})

const ask = (init: RequestInit = {}, url = asset) => fetch(url, { redirect: 'manual', ...init })

it('an image is a 307 to an address of the bucket that works for a minute at most [asset-5]', async () => {
  const answer = await ask()
  expect(answer.status).toBe(307)
  expect(await answer.text()).toBe('')
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'cache-control': 'no-store',
    etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
  })
  const address = new URL(answer.headers.get('location') ?? '')
  expect(address.origin).toBe(server.environment['AWS_ENDPOINT_URL_S3'])
  expect(address.searchParams.get('X-Amz-Expires')).toBe('60')

  const followed = await fetch(asset)
  expect(Buffer.from(await followed.arrayBuffer()).equals(redPixelPng)).toBe(true)
  expect(Object.fromEntries(followed.headers)).toMatchObject({
    'content-type': 'image/png',
    'cache-control': 'private, max-age=86399, immutable',
    'content-disposition': `inline; filename="${taskId}.png"`,
  })
  const part = await fetch(asset, { headers: { Range: 'bytes=10-19' } })
  expect(part.status).toBe(206)
  expect(Buffer.from(await part.arrayBuffer()).equals(redPixelPng.subarray(10, 20))).toBe(true)
})

it('a redirect never outlives the image', async () => {
  api.tasks.change(taskId, { nowMs: 1_700_086_455_000 })
  const { headers } = await ask()
  api.tasks.change(taskId, { nowMs: 1_700_000_061_000 })
  const address = new URL(headers.get('location') ?? '')
  expect(address.searchParams.get('X-Amz-Expires')).toBe('5')
})

it('HEAD, ETag and errors are those of an image that is not redirected [asset-5]', async () => {
  const head = await ask({ method: 'HEAD', headers: { Range: 'bytes=0-1' } })
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect(head.headers.get('content-length')).toBe(String(redPixelPng.length))
  const etag = head.headers.get('etag') ?? ''
  expect((await ask({ headers: { 'If-None-Match': etag } })).status).toBe(304)
  expect((await ask({ headers: { Range: 'bytes=9999-' } })).status).toBe(416)
  expect((await ask({}, asset.replace('signature=', 'signature=A'))).status).toBe(404)
})
