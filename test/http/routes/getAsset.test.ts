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

  it('is not sent again to a client that has it [asset-2]', async () => {
    const etag = (await get(asset)).headers.get('etag') ?? ''
    for (const header of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const response = await get(asset, { 'If-None-Match': header })
      expect(response.status).toBe(304)
      expect(response.headers.get('etag')).toBe(etag)
      expect(await response.text()).toBe('')
    }
    expect((await get(asset, { 'If-None-Match': '"x"' })).status).toBe(200)
  })

  it.each([
    ['bytes=0-0', 0, 0],
    ['bytes=10-19', 10, 19],
    ['bytes=-5', length - 5, length - 1],
    ['bytes=5-9999', 5, length - 1],
    [`bytes=5-${'9'.repeat(400)}`, 5, length - 1],
  ])('is sent in part for %s [asset-2]', async (range, first, last) => {
    const response = await get(asset, { Range: range })
    expect(response.status).toBe(206)
    expect(response.headers.get('content-range')).toBe(`bytes ${first}-${last}/${length}`)
    const part = Buffer.from(await response.arrayBuffer())
    expect(part.equals(redPixelPng.subarray(first, last + 1))).toBe(true)
  })

  it.each([
    ['bytes=5-4', 200],
    ['bytes=0-1,3-4', 200],
    ['lines=0-1', 200],
    ['bytes=-', 200],
    ['bytes=9999-', 416],
    ['bytes=-0', 416],
  ])('is sent whole, or not at all, for %s: %i', async (range, status) => {
    const { status: seen, headers } = await get(asset, { Range: range })
    expect(seen).toBe(status)
    expect(headers.get('content-range')).toBe(status === 416 ? `bytes */${length}` : null)
    expect(headers.get('content-type')).toBe(status === 416 ? 'application/json' : 'image/png')
  })

  it('is sent in part only while If-Range matches, and whole for HEAD [asset-2]', async () => {
    const etag = (await get(asset)).headers.get('etag') ?? ''
    const part = { Range: 'bytes=0-1' }
    expect((await get(asset, { ...part, 'If-Range': etag })).status).toBe(206)
    expect((await get(asset, { ...part, 'If-Range': `W/${etag}` })).status).toBe(200)
    expect((await get(asset, { ...part, 'If-Range': '"x"' })).status).toBe(200)
    const head = await get(asset, part, 'HEAD')
    expect(head.status).toBe(200)
    expect(head.headers.get('content-length')).toBe(String(length))
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
