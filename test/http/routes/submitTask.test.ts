import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { requestTextBytesMax } from '../../../src/domain/limits.ts'
import { NothingWrittenError } from '../../../src/domain/ports/nothingWrittenError.ts'
import { editBody, generateBody, inputImage } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { startTestApi, useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

const api = useTestApi()

const path = '/v1/images/tasks'
const image = inputImage()

/** Sends bytes of JSON with the given headers. Without a `Content-Type` it has none. */
function post(body: Uint8Array, headers: Record<string, string>): Promise<Response> {
  return api.send(path, { method: 'POST', body: new Uint8Array(body), headers })
}

const coded = (coding: string, body: Uint8Array) =>
  post(body, { 'Content-Type': 'application/json', 'Content-Encoding': coding })
const bytesOf = (body: unknown) => Buffer.from(JSON.stringify(body))
const errorOf = async (response: Response) => errorResponse.parse(await response.json()).error

describe('an accepted submit', () => {
  it('answers 202 with its three fields and the URL of the task', async () => {
    const response = await api.postJson(path, generateBody())
    expect(response.status).toBe(202)
    const body: unknown = await response.json()
    const taskId = api.tasks.newestId()
    expect(body).toEqual({ task_id: taskId, status: 'queued', created_at: 1_700_000_000 })
    const { headers } = response
    expect(headers.get('location')).toBe(`https://images.example.test/v1/tasks/${taskId}`)
    expect(headers.get('retry-after')).toBe('3')
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.has('idempotent-replayed')).toBe(false)
  })

  it('stores its images under the upload of the task, also data before its type and compressed', async () => {
    const { data, mime_type } = image
    const input_images = [image, { data, mime_type }]
    const response = await coded('gzip', gzipSync(bytesOf(editBody({ input_images }))))
    expect(response.status).toBe(202)
    const { request, uploadId } = api.tasks.accepted.at(-1) ?? {}
    const keys = [`${uploadId}/0`, `${uploadId}/1`]
    expect(request?.inputs.map(({ blobKey }) => blobKey)).toEqual(keys)
    for (const key of keys) expect(api.blobs.content.get(key)?.equals(redPixelPng)).toBe(true)
    expect(api.tasks.openUploads.size).toBe(0)
  })

  it('answers a replay with the original body and another request with a 409, and discards their uploads', async () => {
    const headers = { 'Idempotency-Key': 'replay me' }
    const first = await api.postJson(path, editBody(), headers)
    const second = await api.postJson(path, editBody(), headers)
    expect(first.headers.get('idempotent-replayed')).toBe('false')
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.status).toBe(202)
    expect(await second.text()).toBe(await first.text())
    const other = await api.postJson(path, editBody({ prompt: 'other' }), headers)
    expect(other.status).toBe(409)
    expect(other.headers.get('x-should-retry')).toBe('false')
    expect((await errorOf(other)).code).toBe('idempotency_key_reused')
    expect(api.tasks.openUploads.size).toBe(0)
    const uploads = new Set([...api.blobs.content.keys()].map((key) => key.split('/')[0]))
    expect(uploads).toContain(api.tasks.accepted.at(-1)?.uploadId)
  })
})

describe('a refused submit', () => {
  const images = (...input_images: readonly object[]) => editBody({ input_images })
  it.each([
    ['duplicate keys', '{"model":"x","model":"y"}', 'invalid_json', 'model'],
    ['no JSON', 'prompt=x', 'invalid_json', null],
    ['nothing', '', 'invalid_json', null],
    ['NUL', generateBody({ prompt: 'a\0b' }), 'invalid_value', 'prompt'],
    ['a lone surrogate', generateBody({ prompt: 'a\ud800b' }), 'invalid_value', 'prompt'],
    [
      'a data URL',
      images({ ...image, data: `data:image/png;base64,${image.data}` }),
      'invalid_image',
      'input_images[0].data',
    ],
    [
      'bytes that are no image',
      images(image, { ...image, data: 'QUJD' }),
      'invalid_image',
      'input_images[1].data',
    ],
    [
      'seventeen images',
      images(...Array.from({ length: 17 }, () => image)),
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
    ['no content type', {}],
    ['text', { 'Content-Type': 'text/plain' }],
    ['another charset', { 'Content-Type': 'application/json; charset=latin1' }],
  ])('has another media type: %s', async (_what, headers) => {
    const response = await post(bytesOf(generateBody()), headers)
    expect(response.status).toBe(400)
    expect((await errorOf(response)).code).toBe('unsupported_content_type')
    const utf8 = { 'Content-Type': 'Application/JSON; charset="UTF-8"' }
    expect((await post(bytesOf(generateBody()), utf8)).status).toBe(202)
  })

  const plain = bytesOf(editBody())
  it.each([
    ['gzip, gzip', gzipSync(gzipSync(plain)), 'unsupported_content_encoding', 'Content-Encoding'],
    [
      'gzip, br',
      brotliCompressSync(gzipSync(plain)),
      'unsupported_content_encoding',
      'Content-Encoding',
    ],
    ['lz4', plain, 'unsupported_content_encoding', 'Content-Encoding'],
    ['gzip', plain, 'read_request_body_failed', null],
  ])('has a content coding that is not understood: %s', async (coding, body, code, param) => {
    const response = await coded(coding, body)
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code, param })
  })

  it('with too much text is a 413, although it is within the ingress limit', async () => {
    const roomy = await startTestApi({ ingressLimitBytes: 2 * requestTextBytesMax })
    onTestFinished(() => roomy.close())
    const prompt = 'x'.repeat(requestTextBytesMax + 1)
    const response = await roomy.postJson(path, generateBody({ prompt }))
    expect(response.status).toBe(413)
    expect(await errorOf(response)).toMatchObject({
      message: 'texts of the request body exceed 16 MB: request body too large',
      code: 'read_request_body_failed',
    })
  })

  const zeros = Buffer.alloc(4 * 1024 * 1024 + 1)
  it.each([
    ['declared', () => coded('identity', zeros)],
    ['compressed', () => coded('gzip', gzipSync(zeros))],
  ])('beyond the ingress limit is a 413, also when it is not JSON: %s', async (_what, send) => {
    const response = await send()
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
})

describe('a submit during an outage', () => {
  const gone = () => Promise.reject(new Error('database is gone: secret-of-the-error'))
  const unwritten = () => Promise.reject(new NothingWrittenError(new Error('lock timeout')))
  it.each([
    ['is not to be retried without a key, which could find its task', gone, {}, 'false'],
    ['may be retried with a key', gone, { 'Idempotency-Key': 'again' }, null],
    ['may be retried when certainly nothing was written', unwritten, {}, null],
  ])('answers 500 without text of the error, and %s', async (_what, fail, headers, retry) => {
    api.tasks.beforeAccept = fail
    const response = await api.postJson(path, editBody(), headers)
    api.tasks.beforeAccept = undefined
    expect(response.status).toBe(500)
    const requestId = response.headers.get('x-request-id') ?? ''
    expect(await errorOf(response)).toEqual({
      message: `The request could not be completed. (request id: ${requestId})`,
      type: 'new_api_error',
      param: '',
      code: 'internal_error',
    })
    expect(response.headers.get('x-should-retry')).toBe(retry)
    expect(String(api.reported.at(-1))).toMatch(/database is gone|Nothing was written/)
    expect(api.tasks.openUploads.size).toBe(0)
  })
})

it('a submit stores nothing and reports no error when its body is cut off at any byte', async () => {
  // Large enough that the blob store is still receiving it when the connection ends.
  const large = inputImage(Buffer.concat([redPixelPng, Buffer.alloc(30_000)]))
  const body = JSON.stringify(editBody({ input_images: [large, large] }))
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const seen = () => [[...api.blobs.content.keys()], api.tasks.accepted.length, api.reported.length]
  const before = seen()
  for (let cut = 0; cut < body.length; cut += cut < 400 ? 7 : 997) {
    await api.raw(head + body.slice(0, cut), { half: false })
  }
  await expect.poll(() => api.tasks.openUploads.size).toBe(0)
  expect(seen()).toEqual(before)
})
