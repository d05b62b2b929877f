import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PresignOptions } from '../../../src/domain/ports/blobStore.ts'
import { createMemoryBlobs } from '../../support/blobs/memoryBlobs.ts'
import { generateBody } from '../../support/clients/requestBodies.ts'
import { taskRecordResponse } from '../../support/clients/responses.ts'
import { startTestApi, useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

const api = useTestApi()
const length = redPixelPng.length
let taskId: string
/** Path and query of the finished asset. */
let asset: string
beforeAll(async () => {
  asset = await finishedAsset(api)
  taskId = api.tasks.newestId()
})

/** Finishes a task of the account, and returns path and query of its asset. */
async function finishedAsset(from: Pick<typeof api, 'postJson' | 'send' | 'tasks'>, key = 'sk-a') {
  const headers = { Authorization: `Bearer ${key}` }
  await (await from.postJson('/v1/images/tasks', generateBody(), headers)).text()
  const id = from.tasks.newestId()
  await from.tasks.succeed(id)
  const found = await from.send(`/v1/tasks/${id}`, { headers })
  const { output } = taskRecordResponse.parse(await found.json())
  return (output?.assets[0]?.url ?? '').replace('https://images.example.test', '')
}

/** Without an API key. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${api.url}${path}`, { method, headers })

describe('an asset', () => {
  it.each([{}, { Range: 'bytes=10-' }])(
    'is a 500 when its blob is shorter than it was: no client waits for the rest. %j',
    async (headers) => {
      const own = await finishedAsset(api)
      const blobKey = [...api.blobs.content.keys()].at(-1) ?? ''
      api.blobs.content.set(blobKey, redPixelPng.subarray(0, -1))
      const answer = await get(own, headers)
      expect(answer.status).toBe(500)
      expect(await answer.json()).toMatchObject({ error: { code: 'internal_error' } })
      expect((await get(own, headers, 'HEAD')).status).toBe(200)
    },
  )

  it('is served without an API key, with its type and its protective headers', async () => {
    const response = await get(asset)
    expect(Buffer.from(await response.arrayBuffer()).equals(redPixelPng)).toBe(true)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(length),
      'cache-control': 'private, max-age=86399, immutable',
      'content-disposition': `inline; filename="${taskId}.png"`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    })
  })

  const etag = `"${createHash('sha256').update(redPixelPng).digest('hex')}"`
  const whole = [0, length - 1] as const
  const part = { Range: 'bytes=0-1' }
  it.each<[Record<string, string>, number, (readonly [first: number, last: number])?]>([
    [{ 'If-None-Match': etag }, 304],
    [{ 'If-None-Match': `W/${etag}` }, 304],
    [{ 'If-None-Match': `"x", ${etag}` }, 304],
    [{ 'If-None-Match': '*' }, 304],
    [{ 'If-None-Match': '"x"' }, 200, whole],
    [{ Range: 'bytes=0-0' }, 206, [0, 0]],
    [{ Range: 'bytes=10-19' }, 206, [10, 19]],
    [{ Range: 'bytes=-5' }, 206, [length - 5, length - 1]],
    [{ Range: `bytes=5-${'9'.repeat(400)}` }, 206, [5, length - 1]],
    [{ Range: 'bytes=5-4' }, 200, whole],
    [{ Range: 'bytes=0-1,3-4' }, 200, whole],
    [{ Range: 'lines=0-1' }, 200, whole],
    [{ Range: 'bytes=-' }, 200, whole],
    [{ Range: 'bytes=9999-' }, 416],
    [{ Range: 'bytes=-0' }, 416],
    [{ ...part, 'If-Range': etag }, 206, [0, 1]],
    [{ ...part, 'If-Range': `W/${etag}` }, 200, whole],
    [{ ...part, 'If-Range': '"x"' }, 200, whole],
  ])('is sent whole, in part or not at all, as is asked: %j, %i [asset-2]', async (...row) => {
    const [asked, status, bytes] = row
    const answer = await get(asset, asked)
    expect([answer.status, answer.headers.get('etag')]).toEqual([
      status,
      status === 416 ? null : etag,
    ])
    const [first, last] = bytes ?? []
    const range = status === 206 ? `bytes ${first}-${last}/${length}` : null
    expect(answer.headers.get('content-range')).toBe(status === 416 ? `bytes */${length}` : range)
    if (status === 416) return
    const content = bytes === undefined ? '' : redPixelPng.subarray(first, (last ?? 0) + 1)
    expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.from(content))).toBe(true)
  })

  it('is whole for HEAD, without its bytes [asset-2]', async () => {
    const head = await get(asset, part, 'HEAD')
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(length)])
    expect(await head.text()).toBe('')
  })
})

it('an asset is the same 404 with a wrong URL, as soon as its task reads expired, and after the purge [asset-3]', async () => {
  const bodies = new Set<string>()
  const see = async (path: string) => {
    const answer = await get(path)
    expect(answer.status).toBe(404)
    bodies.add(await answer.text())
  }
  await see(asset.replace('signature=', 'signature=A'))
  await see(asset.replace('image.png', 'image.webp'))
  await see(asset.replace(taskId, `task_${'z'.repeat(32)}`))
  api.tasks.change(taskId, { nowMs: 1_700_086_460_000 })
  await see(asset)
  api.tasks.change(taskId, { nowMs: 1_700_086_459_999 })
  expect((await get(asset)).status).toBe(200)
  api.blobs.content.clear()
  await see(asset)
  expect([...bodies]).toEqual([
    '{"error":{"message":"The asset does not exist or has expired.","type":"invalid_request_error","param":null,"code":"not_found"}}',
  ])
})

it('with ASSET_REDIRECT an image is a 307 to an address of the bucket that never outlives it; HEAD, ETag and errors are as without [asset-5]', async () => {
  const memory = createMemoryBlobs()
  const presign = async (key: string, { livesSeconds, contentType }: PresignOptions) =>
    `https://bucket.test/${key}?${livesSeconds}&${contentType}`
  const own = await startTestApi({ assetRedirect: true }, { blobs: { ...memory, presign } })
  onTestFinished(() => own.close())
  const path = await finishedAsset(own)
  const ask = (headers: Record<string, string> = {}, method = 'GET', at = path) =>
    fetch(`${own.url}${at}`, { redirect: 'manual', method, headers })
  const answer = await ask({ Range: 'bytes=0-1' })
  expect([answer.status, await answer.text()]).toEqual([307, ''])
  const etag = answer.headers.get('etag') ?? ''
  expect(etag).toMatch(/^"[0-9a-f]{64}"$/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('location')).toMatch(/^https:\/\/bucket.test\/\S+\?60&image\/png$/)
  const head = await ask({ Range: 'bytes=0-1' }, 'HEAD')
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(length)])
  expect((await ask({ 'If-None-Match': etag })).status).toBe(304)
  expect((await ask({ Range: 'bytes=9999-' })).status).toBe(416)
  expect((await ask({}, 'GET', path.replace('signature=', 'signature=A'))).status).toBe(404)
  own.tasks.change(own.tasks.newestId(), { nowMs: 1_700_086_455_000 })
  expect((await ask()).headers.get('location')).toContain('?5&')
})
