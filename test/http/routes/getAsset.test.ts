import { createHash } from 'node:crypto'
import sharp from 'sharp'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PresignOptions } from '../../../src/domain/ports/blobStore.ts'
import { storeAnswer } from '../../../src/tasks/produce/storedAnswer.ts'
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

describe('a variant', () => {
  it('has its own bytes, type, ETag and file name, which stay, also for HEAD and a range [asset-6]', async () => {
    const path = `${asset}&width=256&format=webp`
    const head = await get(path, {}, 'HEAD')
    const answer = await get(path)
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect((await sharp(bytes).metadata()).format).toBe('webp')
    const tag = `"${createHash('sha256').update(redPixelPng).digest('hex')}-256.webp"`
    for (const { status, headers } of [head, answer]) {
      expect([status, Object.fromEntries(headers)]).toMatchObject([
        200,
        {
          'content-type': 'image/webp',
          'content-length': String(bytes.length),
          'content-disposition': `inline; filename="${taskId}-256.webp"`,
          'cache-control': 'private, max-age=86399, immutable',
          etag: tag,
        },
      ])
    }
    const part = await get(path, { Range: 'bytes=2-5', 'If-Range': tag })
    expect([part.status, part.headers.get('content-range')]).toEqual([
      206,
      `bytes 2-5/${bytes.length}`,
    ])
    expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(2, 6))
    expect((await get(path, { Range: `bytes=${bytes.length}-` })).status).toBe(416)
    expect((await get(path, { 'If-None-Match': tag })).status).toBe(304)
    expect(Buffer.from(await (await get(asset)).arrayBuffer())).toEqual(redPixelPng)
  })

  it('of the same width and format is the same, whether the format is named or not', async () => {
    const named = await get(`${asset}&width=128&format=png`)
    const unnamed = await get(`${asset}&width=128`)
    expect(unnamed.headers.get('etag')).toBe(named.headers.get('etag'))
  })

  it.each([
    ['&width=300', 'width'],
    ['&format=webp&width=128', 'width'],
    ['&width=128&original=true', 'original'],
  ])('that nobody can ask for is a 400 that names the parameter: %s [asset-6]', async (...row) => {
    const [form, param] = row
    const answer = await get(asset + form)
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_value', param } },
    ])
  })

  it('of an image that cannot be converted is a 400 that names its first parameter [asset-6]', async () => {
    const own = await finishedAsset(api)
    api.blobs.content.set([...api.blobs.content.keys()].at(-1) ?? '', Buffer.from('no image'))
    const answer = await get(`${own}&format=jpeg`)
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { param: 'format' } },
    ])
  })
})

it('what the vendor sent is at `original=true`, where the image was converted from it, and else it is the 404 [asset-9]', async () => {
  expect((await get(`${asset}&original=true`)).status).toBe(404)
  const own = await finishedAsset(api)
  const answerId = [...api.blobs.content.keys()].at(-1)?.split('/')[0] ?? ''
  const jpeg = await sharp(redPixelPng).jpeg().toBuffer()
  await storeAnswer(
    { blobs: api.blobs, log: { warn: () => {} } },
    {
      taskId: '',
      attempt: 1,
      answerId,
      hardEndMs: 1_000,
      outcome: {
        class: 'succeeded',
        evidence: { reason: 'image' },
        image: {
          mimeType: 'image/png',
          width: 1,
          height: 1,
          bytes: redPixelPng,
          original: { mimeType: 'image/jpeg', bytes: jpeg },
          discard: () => {},
        },
        native: { response: {}, imagePath: [] },
      },
    },
  )
  const answer = await get(`${own}&original=true`)
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(jpeg)
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'image/jpeg',
    'content-disposition': expect.stringMatching(/-original\.jpg"$/),
    etag: `"${createHash('sha256').update(jpeg).digest('hex')}"`,
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
  await see(`${asset}&width=128&other=1`)
  await see(`${asset.replace('signature=', 'signature=A')}&width=300`)
  await see(asset.replace(taskId, `task_${'z'.repeat(32)}`))
  api.tasks.change(taskId, { nowMs: 1_700_086_460_000 })
  await see(asset)
  await see(`${asset}&width=256&format=webp`)
  await see(`${asset}&width=300`)
  api.tasks.change(taskId, { nowMs: 1_700_086_459_999 })
  expect((await get(asset)).status).toBe(200)
  api.blobs.content.clear()
  await see(asset)
  await see(`${asset}&width=512`)
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
  const variant = await ask({}, 'GET', `${path}&width=128&format=webp`)
  expect(variant.headers.get('location')).toMatch(/\/128\.webp\?60&image\/webp$/)
  const head = await ask({ Range: 'bytes=0-1' }, 'HEAD')
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(length)])
  expect((await ask({ 'If-None-Match': etag })).status).toBe(304)
  expect((await ask({ Range: 'bytes=9999-' })).status).toBe(416)
  expect((await ask({}, 'GET', path.replace('signature=', 'signature=A'))).status).toBe(404)
  own.tasks.change(own.tasks.newestId(), { nowMs: 1_700_086_455_000 })
  expect((await ask()).headers.get('location')).toContain('?5&')
})
