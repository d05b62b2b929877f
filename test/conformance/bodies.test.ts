import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fetchHistory } from '../../src/temporal/runs.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import type { Posted } from '../support/clients/rawCalls.ts'
import { postStream } from '../support/clients/rawCalls.ts'
import { editBody, generateBody, inputImage } from '../support/clients/requestBodies.ts'
import { paddedPng } from '../support/images.ts'
import { mebibyte, peakGrowthBytes } from '../support/service/processUsage.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { until } from '../support/timing.ts'

let service: TestService
let account: TestAccount
let client: Client
beforeAll(async () => {
  service = await startTestService({ environment: { LOG_LEVEL: 'debug' } })
  account = await service.account()
  client = createClient(service.url, account.secret)
  // The first requests load code and grow the heap. The tests below must not measure that.
  await client.ended((await client.accepted(editBody())).task_id)
}, stackStartMsMax)
afterAll(() => service.stop())

function post(
  content: Parameters<typeof postStream>[2],
  headers: Readonly<Record<string, string>> = {},
): Promise<Posted> {
  return postStream(`${service.url}/v1/images/tasks`, { ...jsonHeaders(), ...headers }, content)
}

function jsonHeaders() {
  return { authorization: client.authorization, 'content-type': 'application/json' }
}

/** An edit with its images before all other fields and with `data` before `mime_type`: JSON has no field order. */
function* largeEdit(images: readonly Buffer[]) {
  yield '{"input_images":['
  for (const [i, bytes] of images.entries()) {
    yield `${i === 0 ? '' : ','}{"data":"`
    yield bytes.toString('base64')
    yield '","mime_type":"image/png"}'
  }
  yield '],"prompt":"Together","action":"edit","model":"familyb-image-2-vip"}'
}

const apiPid = () => service.apis[0]?.pid ?? 0
const codeOf = (body: string): unknown => Object(JSON.parse(body)).error.code

describe('the memory of the API', () => {
  it('grows by less than 150 MiB during an edit with 16 images of 64 MiB in total [image-6, image-7]', async () => {
    const images = Array.from({ length: 16 }, (_, i) => paddedPng(4 * mebibyte, i))
    let posted: Posted | undefined
    const growth = await peakGrowthBytes(apiPid(), async () => {
      posted = await post(largeEdit(images))
    })
    expect(posted?.status).toBe(202)
    const record = await client.ended(JSON.parse(posted?.body ?? '').task_id)
    expect(record.status).toBe('succeeded')
    const [call] = await service.simulator.calls({ prompt: 'Together' })
    expect(call?.images.map(({ bytes }) => bytes)).toEqual(images.map(({ length }) => length))
    console.log(`64 MiB of images: +${Math.round(growth / mebibyte)} MiB`)
    expect(growth).toBeLessThan(150 * mebibyte)
  })

  const bomb = 129 * mebibyte
  it.each([
    ['white space', () => zlib.gzipSync(Buffer.alloc(bomb, ' ')), 'gzip'],
    ['one prompt', () => zlib.gzipSync(`{"prompt":"${'a'.repeat(bomb)}"}`), 'gzip'],
    [
      'image data',
      () => zlib.gzipSync(`{"input_images":[{"data":"${'A'.repeat(bomb)}"}]}`),
      'gzip',
    ],
    ['white space in brotli', () => zlib.brotliCompressSync(Buffer.alloc(bomb, ' ')), 'br'],
  ])(
    'grows by less than 100 MiB while a compressed body of 129 MiB is refused with 413: %s [error-413]',
    async (what, make, coding) => {
      const body = make()
      let posted: Posted | undefined
      const growth = await peakGrowthBytes(apiPid(), async () => {
        posted = await post([body], { 'content-encoding': coding })
      })
      expect(posted?.status).toBe(413)
      expect(JSON.parse(posted?.body ?? '')).toEqual({
        error: {
          message: 'request body exceeds 128 MB: request body too large',
          type: 'new_api_error',
          param: '',
          code: 'read_request_body_failed',
        },
      })
      console.log(`129 MiB ${what}: +${Math.round(growth / mebibyte)} MiB`)
      expect(growth).toBeLessThan(100 * mebibyte)
    },
  )
})

const refusedAt = (param: string) => ({ error: { code: 'invalid_image', param } })

describe('the image size limit of an edit', () => {
  it.each([
    ['one image of 20 MiB [image-5]', [20], 0, { status: 'queued' }],
    ['one image of 20 MiB and one byte [image-5]', [20], 1, refusedAt('input_images[0].data')],
    ['four images of 64 MiB and one byte [image-6]', [20, 20, 20, 4], 1, refusedAt('input_images')],
  ])('is exact to the byte: %s', async (_what, mebibytes, more, answer) => {
    const sizes = mebibytes.map(
      (size, i) => size * mebibyte + (i + 1 < mebibytes.length ? 0 : more),
    )
    const posted = await post(largeEdit(sizes.map((bytes, i) => paddedPng(bytes, i))))
    expect(JSON.parse(posted.body)).toMatchObject(answer)
  })
})

describe('a body in a content coding', () => {
  const text = JSON.stringify(editBody())
  it.each([
    ['gzip', zlib.gzipSync(text)],
    ['deflate', zlib.deflateSync(text)],
    ['br', zlib.brotliCompressSync(text)],
    ['zstd', zlib.zstdCompressSync(text)],
    ['identity', Buffer.from(text)],
  ])('is accepted: %s [answer-3]', async (coding, body) => {
    const { status } = await post([body], { 'content-encoding': coding })
    expect(status).toBe(202)
  })

  it.each([
    ['compress', Buffer.from(text), 'unsupported_content_encoding'],
    ['gzip, zstd', zlib.zstdCompressSync(zlib.gzipSync(text)), 'unsupported_content_encoding'],
    ['gzip', Buffer.from(text), 'read_request_body_failed'],
    ['gzip', zlib.gzipSync(text).subarray(0, -9), 'read_request_body_failed'],
  ])(
    'returns 400 when there are several codings, the coding is unknown or the body cannot be decoded: %s [answer-3]',
    async (coding, body, code) => {
      const posted = await post([body], { 'content-encoding': coding })
      expect(posted.status).toBe(400)
      expect(codeOf(posted.body)).toBe(code)
    },
  )
})

describe('a body whose connection breaks midway', () => {
  it('leaves no task, no hold, no upload and no file [sync-8]', async () => {
    const { accountId, secret } = await service.account()
    const body = JSON.stringify(
      editBody({ input_images: [inputImage(), inputImage(paddedPng(2 * mebibyte, 1))] }),
    )
    const port = Number(new URL(service.url).port)
    const head = `POST /v1/images/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const socket = connect(port, '127.0.0.1')
    socket.write(head)
    socket.write(body.slice(0, -1000))
    const uploadId = await until('the upload of the first image', stagedUpload)
    socket.destroy()
    await once(socket, 'close')
    await until('the sweep', async () => {
      const found = await service.pool.query('select 1 from upload where upload_id = $1', [
        uploadId,
      ])
      return found.rowCount === 0 ? true : undefined
    })
    const left = await service.pool.query(
      `select 1 from task where account_id = $1
       union all select 1 from ledger where account_id = $1 and kind <> 'deposit'`,
      [accountId],
    )
    expect(left.rowCount).toBe(0)
    expect(existsSync(join(service.blobDir, uploadId))).toBe(false)
    // Tasks of earlier tests may still write there.
    await until('no temporary file', () =>
      readdirSync(join(service.blobDir, '.temp')).length === 0 ? true : undefined,
    )
  })

  /** The id of the upload that is still receiving, once its first image is stored. */
  async function stagedUpload(): Promise<string | undefined> {
    const { rows } = await service.pool.query<{ id: string }>(
      'select upload_id as id from upload where task_id is null and sweep_after > now()',
    )
    const [id] = rows.map((row) => row.id)
    return id !== undefined && existsSync(join(service.blobDir, id, '0')) ? id : undefined
  }
})

describe('a prompt of 3 MB', () => {
  it('succeeds; neither the prompt nor a key appears in the Temporal history or in a log [answer-5]', async () => {
    const canary = 'canary-of-the-prompt'
    const prompt = `${canary} ${'lighthouse äöü 灯台 '.repeat(125_000)}`
    expect(Buffer.byteLength(prompt)).toBeGreaterThan(3_000_000)
    const key = 'canary-of-the-key'
    const { task_id } = await client.accepted(generateBody({ prompt }), { 'idempotency-key': key })
    expect((await client.ended(task_id)).status).toBe('succeeded')
    expect((await service.simulator.calls({ prompt: canary })).map((call) => call.prompt)).toEqual([
      prompt,
    ])

    // The workflow completes a moment after its task.
    const history = await until('a closed workflow', async () => {
      const events = (await fetchHistory(service.temporal.temporal, task_id)) ?? ''
      return events.includes('WORKFLOW_EXECUTION_COMPLETED') ? events : undefined
    })
    console.log(`history: ${history.length} bytes`)
    expect(history.length).toBeLessThan(50_000)
    const logs = [...service.apis, ...service.workers].map((process) => process.output()).join('')
    expect(logs).toContain(task_id)
    for (const secret of [canary, key, account.secret, 'upstream-credential-b']) {
      for (const text of [history, logs]) {
        expect(text).not.toContain(secret)
        expect(text).not.toContain(Buffer.from(secret).toString('base64').slice(0, -4))
      }
    }
  })
})
