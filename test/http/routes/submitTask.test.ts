import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { NothingWrittenError } from '../../../src/domain/ports/nothingWrittenError.ts'
import { startTestApi, useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

const api = useTestApi()

const path = '/v1/images/tasks'
const generate = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'a lighthouse' }
const image = { mime_type: 'image/png', data: redPixelPng.toString('base64') }
const edit = { ...generate, action: 'edit', input_images: [image] }

function postCoded(coding: string, body: Uint8Array): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', 'Content-Encoding': coding }
  return api.send(path, { method: 'POST', body: new Uint8Array(body), headers })
}

async function errorOf(response: Response): Promise<unknown> {
  const body: unknown = await response.json()
  return Reflect.get(Object(body), 'error')
}

describe('an accepted submit', () => {
  it('answers 202 with its three fields and the URL of the task [submit-2]', async () => {
    const response = await api.postJson(path, generate)
    const body: unknown = await response.json()
    expect(response.status).toBe(202)
    expect(body).toEqual({
      task_id: expect.stringMatching(/^task_/),
      status: 'queued',
      created_at: 1_700_000_000,
    })
    const taskId = String(Reflect.get(Object(body), 'task_id'))
    expect(response.headers.get('location')).toBe(`https://images.example.test/v1/tasks/${taskId}`)
    expect(response.headers.get('retry-after')).toBe('3')
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.has('idempotent-replayed')).toBe(false)
  })

  it('stores its images under the upload of the task', async () => {
    const response = await api.postJson(path, { ...edit, input_images: [image, image] })
    expect(response.status).toBe(202)
    const accepted = api.tasks.accepted.at(-1)
    expect(accepted?.request.inputs.map(({ blobKey }) => blobKey)).toEqual([
      `${accepted?.uploadId}/0`,
      `${accepted?.uploadId}/1`,
    ])
    expect(api.blobs.content.get(`${accepted?.uploadId}/1`)?.equals(redPixelPng)).toBe(true)
    expect(api.tasks.openUploads.size).toBe(0)
  })

  it('accepts its fields in any order, image data before its type', async () => {
    const body = `{"input_images":[{"data":"${image.data}","mime_type":"image/png"}],"prompt":"x","action":"edit","model":"familya-3-pro-image"}`
    expect((await api.postJson(path, body)).status).toBe(202)
  })

  it('answers a replay with the original body, and discards its upload', async () => {
    const headers = { 'Idempotency-Key': 'replay me' }
    const first = await api.postJson(path, edit, headers)
    const second = await api.postJson(path, edit, headers)
    expect(first.headers.get('idempotent-replayed')).toBe('false')
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.status).toBe(202)
    expect(await second.text()).toBe(await first.text())
    expect(api.tasks.openUploads.size).toBe(0)
    const uploads = new Set([...api.blobs.content.keys()].map((key) => key.split('/')[0]))
    expect(uploads).toContain(api.tasks.accepted.at(-1)?.uploadId)
  })

  it('may be compressed', async () => {
    const response = await postCoded('gzip', gzipSync(JSON.stringify(edit)))
    expect(response.status).toBe(202)
  })
})

describe('a refused submit', () => {
  it('with the key of another request is a 409 that says not to retry', async () => {
    const headers = { 'Idempotency-Key': 'conflict' }
    await api.postJson(path, edit, headers)
    const response = await api.postJson(path, { ...edit, prompt: 'other' }, headers)
    expect(response.status).toBe(409)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await errorOf(response)).toEqual({
      message: 'The Idempotency-Key already belongs to a different request.',
      type: 'invalid_request_error',
      param: null,
      code: 'idempotency_key_reused',
    })
    expect(api.tasks.openUploads.size).toBe(0)
  })

  it.each([
    ['duplicate keys [task-14]', '{"model":"x","model":"y"}', 'invalid_json', 'model'],
    ['no JSON', 'prompt=x', 'invalid_json', null],
    ['nothing', '', 'invalid_json', null],
    ['an array', '[]', 'invalid_json', null],
    ['an unknown field', { ...generate, style: 'x' }, 'unknown_parameter', 'style'],
    ['NUL [task-14]', { ...generate, prompt: 'a\0b' }, 'invalid_value', 'prompt'],
    ['a lone surrogate [task-14]', { ...generate, prompt: 'a\ud800b' }, 'invalid_value', 'prompt'],
    [
      'a data URL',
      { ...edit, input_images: [{ ...image, data: `data:image/png;base64,${image.data}` }] },
      'invalid_image',
      'input_images[0].data',
    ],
    [
      'bytes that are no image',
      { ...edit, input_images: [image, { ...image, data: 'QUJD' }] },
      'invalid_image',
      'input_images[1].data',
    ],
    [
      'seventeen images',
      { ...edit, input_images: Array.from({ length: 17 }, () => image) },
      'invalid_value',
      'input_images',
    ],
    ['1e999', '{"n":1e999}', 'invalid_value', 'n'],
    ['1e999 alone', '1e999', 'invalid_value', null],
    ['NUL in the name of a field', '{"a\\u0000":1}', 'invalid_value', null],
  ])('with %s names the field and stores nothing', async (_what, body, code, param) => {
    const before = new Set(api.blobs.content.keys())
    const response = await api.postJson(path, body)
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ type: 'invalid_request_error', code, param })
    expect(api.tasks.openUploads.size).toBe(0)
    expect(new Set(api.blobs.content.keys())).toEqual(before)
  })

  it.each([
    ['no content type', undefined, 400, 'unsupported_content_type'],
    ['text', 'text/plain', 400, 'unsupported_content_type'],
    ['another charset', 'application/json; charset=latin1', 400, 'unsupported_content_type'],
    ['UTF-8 named', 'Application/JSON; charset="UTF-8"', 202, undefined],
  ])('depends on the media type: %s [submit-3]', async (_what, type, status, code) => {
    const response = await api.send(path, {
      method: 'POST',
      body: new TextEncoder().encode(JSON.stringify(generate)),
      ...(type === undefined ? {} : { headers: { 'Content-Type': type } }),
    })
    expect(response.status).toBe(status)
    const body: unknown = await response.json()
    expect(Reflect.get(Object(Reflect.get(Object(body), 'error')), 'code')).toBe(code)
  })

  it.each([
    ['gzip, gzip', (body: Uint8Array) => gzipSync(gzipSync(body))],
    ['gzip, br', (body: Uint8Array) => brotliCompressSync(gzipSync(body))],
  ])('has several content codings: %s', async (coding, encode) => {
    const response = await postCoded(coding, encode(Buffer.from(JSON.stringify(edit))))
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({
      code: 'unsupported_content_encoding',
      param: 'Content-Encoding',
    })
  })

  it('has an unknown content coding, or content in another coding', async () => {
    const lz4 = await api.postJson(path, generate, { 'Content-Encoding': 'lz4' })
    expect(lz4.status).toBe(400)
    expect(await errorOf(lz4)).toMatchObject({ code: 'unsupported_content_encoding' })
    const broken = await api.postJson(path, generate, { 'Content-Encoding': 'gzip' })
    expect(broken.status).toBe(400)
    expect(await errorOf(broken)).toMatchObject({ code: 'read_request_body_failed' })
  })

  it('with too much text is a 413, although it is within the ingress limit', async () => {
    const roomy = await startTestApi({ ingressLimitBytes: 32 * 1024 * 1024 })
    onTestFinished(() => roomy.close())
    const prompt = 'x'.repeat(16 * 1024 * 1024 + 1)
    const response = await roomy.postJson(path, { ...generate, prompt })
    expect(response.status).toBe(413)
    expect(await errorOf(response)).toMatchObject({
      message: 'texts of the request body exceed 16 MB: request body too large',
      code: 'read_request_body_failed',
    })
  })

  it.each([
    ['declared', {}],
    ['compressed', { 'Content-Encoding': 'gzip' }],
  ])('beyond the ingress limit is a 413, also when it is not JSON: %s', async (_what, headers) => {
    const zeros = Buffer.alloc(4 * 1024 * 1024 + 1)
    const body = 'Content-Encoding' in headers ? gzipSync(zeros) : zeros
    const response = await api.send(path, {
      method: 'POST',
      body: new Uint8Array(body),
      headers: { 'Content-Type': 'application/json', ...headers },
    })
    expect(response.status).toBe(413)
    expect(await errorOf(response)).toEqual({
      message: 'request body exceeds 4 MB: request body too large',
      type: 'new_api_error',
      param: '',
      code: 'read_request_body_failed',
    })
  })

  it('beyond the ingress limit is a 413 when it is chunked', async () => {
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`
    expect(await api.raw(`${head}${chunk.repeat(65)}0\r\n\r\n`)).toMatch(/^HTTP\/1.1 413 /)
  })

  it.each([
    ['empty', ['']],
    ['doubled', ['a', 'a']],
    ['256 bytes long', ['x'.repeat(256)]],
    ['256 bytes long in 128 letters', ['é'.repeat(128)]],
  ])('with a key that is %s names the header', async (_what, keys) => {
    const lines = keys.map((key) => `Idempotency-Key: ${key}\r\n`).join('')
    const body = JSON.stringify(generate)
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n${lines}\r\n`
    const answer = await api.raw(Buffer.from(head + body, 'utf8'))
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('"param":"Idempotency-Key"')
  })

  it('with a key of 254 bytes in 127 letters is accepted', async () => {
    const body = JSON.stringify(generate)
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\nIdempotency-Key: ${'é'.repeat(127)}\r\n\r\n`
    expect(await api.raw(Buffer.from(head + body, 'utf8'))).toMatch(/^HTTP\/1.1 202 /)
    expect(api.tasks.accepted.at(-1)?.idempotencyKey).toHaveLength(254)
  })
})

describe('a submit during an outage', () => {
  it('answers 500 with the request id and no text of the error [error-500]', async () => {
    api.tasks.breakNext = true
    const response = await api.postJson(path, edit)
    api.tasks.breakNext = false
    expect(response.status).toBe(500)
    const requestId = response.headers.get('x-request-id') ?? ''
    expect(await errorOf(response)).toEqual({
      message: `The request could not be completed. (request id: ${requestId})`,
      type: 'new_api_error',
      param: '',
      code: 'internal_error',
    })
    // Without a key the client cannot find out whether the task exists.
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(String(api.reported.at(-1))).toContain('database is gone')
    expect(api.tasks.openUploads.size).toBe(0)
  })

  it('may be retried without a key when certainly nothing was written', async () => {
    api.tasks.beforeAccept = () =>
      Promise.reject(new NothingWrittenError(new Error('lock timeout')))
    const response = await api.postJson(path, edit)
    api.tasks.beforeAccept = undefined
    expect(response.status).toBe(500)
    expect(response.headers.has('x-should-retry')).toBe(false)
    expect(String(api.reported.at(-1))).toContain('Nothing was written')
    expect(api.tasks.openUploads.size).toBe(0)
  })

  it('may be retried with a key', async () => {
    api.tasks.breakNext = true
    const response = await api.postJson(path, edit, { 'Idempotency-Key': 'again' })
    api.tasks.breakNext = false
    expect(response.status).toBe(500)
    expect(response.headers.has('x-should-retry')).toBe(false)
  })

  it('stores nothing when its body is cut off at any byte', async () => {
    // Large enough that the blob store is still receiving it when the connection ends.
    const data = Buffer.concat([redPixelPng, Buffer.alloc(30_000)]).toString('base64')
    const large = { ...image, data }
    const body = JSON.stringify({ ...edit, input_images: [large, large] })
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const before = { keys: new Set(api.blobs.content.keys()), count: api.tasks.accepted.length }
    const reported = api.reported.length
    for (let cut = 0; cut < body.length; cut += cut < 4000 ? 7 : 997) {
      await api.raw(head + body.slice(0, cut), { half: false })
    }
    await expect.poll(() => api.tasks.openUploads.size).toBe(0)
    expect(new Set(api.blobs.content.keys())).toEqual(before.keys)
    expect(api.tasks.accepted).toHaveLength(before.count)
    expect(api.reported).toHaveLength(reported)
  })
})
