import { beforeAll, describe, expect, it, vi } from 'vitest'
import { taskRecordResponse } from '../../support/clients/responses.ts'
import { startTestApi, useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'
import { standStill } from '../../support/timing.ts'

const api = useTestApi()
let taskId: string
/** Path and query of the finished asset. */
let asset: string
beforeAll(async () => {
  const body = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'a lighthouse' }
  const accepted: unknown = await (await api.postJson('/v1/images/tasks', body)).json()
  taskId = String(Reflect.get(Object(accepted), 'task_id'))
  await api.tasks.succeed(taskId)
  const record = taskRecordResponse.parse(await (await api.send(`/v1/tasks/${taskId}`)).json())
  asset = (record.output?.assets[0]?.url ?? '').replace('https://images.example.test', '')
})

/** Without an API key. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${api.url}${path}`, { method, headers })

describe('an asset', () => {
  it('is served without an API key, with its type and its protective headers', async () => {
    const response = await get(asset)
    expect(Buffer.from(await response.arrayBuffer()).equals(redPixelPng)).toBe(true)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(redPixelPng.length),
      'cache-control': 'private, max-age=86399, immutable',
      'content-disposition': `inline; filename="${taskId}.png"`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    })
  })

  it('is not sent again to a client that has it', async () => {
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
    ['bytes=60-', 60, redPixelPng.length - 1],
    ['bytes=-5', redPixelPng.length - 5, redPixelPng.length - 1],
    ['bytes=5-9999', 5, redPixelPng.length - 1],
    [`bytes=5-${'9'.repeat(400)}`, 5, redPixelPng.length - 1],
    ['bytes=-9223372036854775807', 0, redPixelPng.length - 1],
  ])('is sent in part for %s', async (range, first, last) => {
    const response = await get(asset, { Range: range })
    expect(response.status).toBe(206)
    expect(response.headers.get('content-range')).toBe(
      `bytes ${first}-${last}/${redPixelPng.length}`,
    )
    const part = Buffer.from(await response.arrayBuffer())
    expect(part.equals(redPixelPng.subarray(first, last + 1))).toBe(true)
  })

  it.each(['bytes=5-4', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=x-y', 'bytes=-'])(
    'is sent as a whole for %s',
    async (range) => {
      expect((await get(asset, { Range: range })).status).toBe(200)
    },
  )

  it.each(['bytes=9999-', 'bytes=-0', 'bytes=9223372036854775807-'])(
    'is a 416 for %s',
    async (range) => {
      const response = await get(asset, { Range: range })
      expect(response.status).toBe(416)
      expect(response.headers.get('content-range')).toBe(`bytes */${redPixelPng.length}`)
      expect(response.headers.get('content-type')).toBe('application/json')
    },
  )

  it('is sent in part only while If-Range matches', async () => {
    const etag = (await get(asset)).headers.get('etag') ?? ''
    const part = { Range: 'bytes=0-1' }
    expect((await get(asset, { ...part, 'If-Range': etag })).status).toBe(206)
    expect((await get(asset, { ...part, 'If-Range': `W/${etag}` })).status).toBe(200)
    expect((await get(asset, { ...part, 'If-Range': '"x"' })).status).toBe(200)
  })

  it('answers HEAD as GET without the bytes', async () => {
    const response = await get(asset, { Range: 'bytes=0-1' }, 'HEAD')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-length')).toBe(String(redPixelPng.length))
    expect(await response.text()).toBe('')
  })
})

describe('assets that many clients read at once', () => {
  it('are read a few pieces at a time, so that other requests come in between', async () => {
    const clients = 24
    const piecesPerTurnMax = 5
    let turn = 0
    let immediate = setImmediate(function count() {
      turn += 1
      immediate = setImmediate(count)
    })
    const all = Promise.withResolvers<void>()
    const pulledIn: number[] = []
    let waiting = 0
    async function* content(): AsyncGenerator<Uint8Array> {
      waiting += 1
      if (waiting === clients) all.resolve()
      // All clients go on in the same turn.
      await all.promise
      yield redPixelPng.subarray(0, 1)
      pulledIn.push(turn)
      // A request to S3 takes CPU time.
      standStill(4)
      yield redPixelPng.subarray(1)
    }
    const read = vi
      .spyOn(api.blobs, 'read')
      .mockImplementation(async () => ({ bytes: redPixelPng.length, content: content() }))
    const answers = Array.from({ length: clients }, async () => (await get(asset)).arrayBuffer())
    for (const bytes of await Promise.all(answers))
      expect(bytes.byteLength).toBe(redPixelPng.length)
    clearImmediate(immediate)
    read.mockRestore()
    const perTurn = [...Map.groupBy(pulledIn, (each) => each).values()].map(({ length }) => length)
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(piecesPerTurnMax)
  })
})

describe('assets beyond the streams of one process', () => {
  it('are refused with a Retry-After; the first of another account, a HEAD and a 304 are not', async () => {
    // Four streams, three of them for one account.
    const busy = await startTestApi({ assetStreamsMax: 4 })
    const finished = async (key: string): Promise<string> => {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
      const body = JSON.stringify({ model: 'familyb-image-2-vip', action: 'generate', prompt: 'x' })
      const accepted: unknown = await (
        await busy.send('/v1/images/tasks', { method: 'POST', headers, body })
      ).json()
      const id = String(Reflect.get(Object(accepted), 'task_id'))
      await busy.tasks.succeed(id)
      const found = await busy.send(`/v1/tasks/${id}`, { headers })
      const { output } = taskRecordResponse.parse(await found.json())
      return (output?.assets[0]?.url ?? '').replace('https://images.example.test', busy.url)
    }
    const [own, other] = await Promise.all([finished('sk-a'), finished('sk-b')])
    const etag = (await fetch(own)).headers.get('etag') ?? ''
    const read = busy.blobs.read
    const readers = Promise.withResolvers<void>()
    const slow = vi.spyOn(busy.blobs, 'read').mockImplementation(async (key, range) => {
      const found = await read(key, range)
      return found && { ...found, content: after(readers.promise, found.content) }
    })
    const held = [1, 2, 3].map(() => fetch(own).then((response) => response.arrayBuffer()))
    await expect.poll(() => slow.mock.calls.length).toBe(3)
    const refused = await fetch(own)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    expect(await refused.json()).toEqual({
      error: {
        message: 'Too many images are being downloaded. Try again later.',
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limit_exceeded',
      },
    })
    expect((await fetch(own, { method: 'HEAD' })).status).toBe(200)
    expect((await fetch(own, { headers: { 'If-None-Match': etag } })).status).toBe(304)
    const foreign = fetch(other)
    await expect.poll(() => slow.mock.calls.length).toBe(5)
    readers.resolve()
    expect((await foreign).status).toBe(200)
    await Promise.all(held)
    expect((await fetch(own)).status).toBe(200)
    await busy.close()
  })
})

async function* after(
  ready: Promise<void>,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  await ready
  yield* content
}

describe('an invalid asset URL', () => {
  it('is the same 404 for every wrong letter', async () => {
    const bodies = new Set<string>()
    const start = asset.indexOf('task_')
    for (let i = start; i < asset.length; i++) {
      const letter = asset[i] === 'A' ? 'B' : 'A'
      const changed = `${asset.slice(0, i)}${letter}${asset.slice(i + 1)}`
      // A slash more or less is another route.
      if (asset[i] === '/') continue
      const response = await get(changed)
      expect([changed, response.status]).toEqual([changed, 404])
      bodies.add(await response.text())
    }
    expect([...bodies]).toEqual([
      '{"error":{"message":"The asset does not exist or has expired.","type":"invalid_request_error","param":null,"code":"not_found"}}',
    ])
  })

  it.each([
    ['a parameter more', (url: string) => `${url}&x=1`],
    ['a parameter twice', (url: string) => `${url}&key=k1`],
    ['no parameters', (url: string) => url.split('?')[0] ?? ''],
    ['the signature left empty', (url: string) => url.replace(/signature=.*/, 'signature=')],
    ['another file name', (url: string) => url.replace('image.png', 'image.webp')],
  ])('is 404 with %s', async (_what, change) => {
    expect((await get(change(asset))).status).toBe(404)
  })

  it('is a 404 as soon as the task reads expired, and after the purge', async () => {
    api.tasks.change(taskId, { nowMs: 1_700_086_460_000 })
    expect((await get(asset)).status).toBe(404)
    api.tasks.change(taskId, { nowMs: 1_700_086_459_999 })
    expect((await get(asset)).status).toBe(200)
    api.blobs.content.clear()
    expect((await get(asset)).status).toBe(404)
  })
})
