import { describe, expect, it } from 'vitest'
import { requestBesidesImagesBytesMax, requestTextBytesMax } from '../../../src/domain/limits.ts'
import { readParts } from '../../../src/http/intake/formParts.ts'
import type { FormPart } from '../../support/clients/requestBodies.ts'
import { formBody, formType } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { paddedPng, redPixelPng } from '../../support/images.ts'

const api = useTestApi({ ingressLimitBytes: 32 * 1024 * 1024 })

const path = '/v1/images/edits'
const named = 'Content-Disposition: form-data; name="n"'
const model: FormPart = { name: 'model', value: 'familyb-image-2-web' }
const prompt: FormPart = { name: 'prompt', value: 'a lighthouse, größer' }
const image: FormPart = { name: 'image', filename: 'a.png', type: 'image/png', value: redPixelPng }

function postBytes(bytes: Uint8Array, type = formType): Promise<Response> {
  const body = new Uint8Array(bytes)
  return api.send(path, { method: 'POST', body, headers: { 'Content-Type': type } })
}

const post = (parts: readonly FormPart[]) => postBytes(formBody(parts))

/** Puts a boundary line into the middle of a part. */
function withBoundary({ value, ...part }: FormPart, lineEnd: string): FormPart {
  const line = formBody([]).subarray(0, -4)
  const middle = [Buffer.from('\r\n'), line, Buffer.from(lineEnd)]
  return { ...part, value: Buffer.concat([Buffer.from(value), ...middle, Buffer.from(value)]) }
}

async function errorOf(response: Response): Promise<unknown> {
  return errorResponse.parse(await response.json()).error
}

describe('an edits form', () => {
  it.each([
    ['a wrong type', [model, prompt, { ...image, type: 'image/webp' }]],
    ['an image with a charset', [model, prompt, { ...image, type: 'image/png; charset=binary' }]],
    ['a number as text', [model, prompt, image, { name: 'n', value: '1' }]],
    [
      'a transfer encoding that changes nothing',
      [model, { ...prompt, type: 'text/plain\r\nContent-Transfer-Encoding: 8bit' }, image],
    ],
    ['a name that is a token', [{ ...model, name: 'model', quote: '' }, prompt, image]],
    ['a file name with quotes', [model, prompt, { ...image, filename: `a; name=prompt \\"'.png` }]],
  ] as const)('is accepted: %s [sync-6]', async (_what, parts) => {
    const answering = post(parts)
    await api.tasks.succeed(await api.tasks.nextId())
    expect((await answering).status).toBe(200)
    const { request, uploadId } = api.tasks.accepted.at(-1) ?? {}
    expect(request).toMatchObject({
      route: 'images.edits',
      body: { prompt: 'a lighthouse, größer' },
      inputs: [{ blobKey: `${uploadId}/0`, mimeType: 'image/png', bytes: redPixelPng.length }],
    })
  })

  /** Posts a form, and returns the answer with how many blobs and uploads it left behind. */
  async function refusalOf(parts: readonly FormPart[]) {
    const before = api.blobs.content.size
    const response = await post(parts)
    const { code, param } = errorResponse.parse(await response.json()).error
    const left = api.blobs.content.size - before + api.tasks.openUploads.size
    return [response.status, code, param, left]
  }

  it.each([
    ['is empty', { value: '' }, 'invalid_image'],
    ['is text', { value: 'x' }, 'invalid_image'],
    ['is beyond 20 MiB', { value: paddedPng(20 * 1024 * 1024 + 1, 0) }, 'invalid_image'],
    [
      'has a transfer encoding',
      { type: 'image/png\r\nContent-Transfer-Encoding: base64' },
      'invalid_value',
    ],
  ])('is refused when its image %s, and stores nothing [sync-7]', async (_what, given, code) => {
    const refusal = await refusalOf([model, prompt, { ...image, ...given }])
    expect(refusal).toEqual([400, code, 'image', 0])
  })

  const latin1 = Buffer.from('a lighthouse, größer', 'latin1')
  it.each([
    ['NUL', { value: 'a\0' }],
    [
      'a lone surrogate',
      { value: Buffer.from('a\ud800', 'utf16le'), type: 'text/plain; charset=utf-16le' },
    ],
    ['bytes that are not UTF-8', { value: latin1 }],
    ['such bytes that are said to be UTF-8', { value: latin1, type: 'text/plain; charset=UTF-8' }],
    ['a text in UTF-7', { value: 'a', type: 'text/plain;\r\n Charset = "utf-7"' }],
    ['a transfer encoding', { type: 'text/plain\r\ncontent-transfer-encoding: base64' }],
    ['a head that also says image', { type: 'text/plain; name="image"; charset=ISO-8859-1' }],
  ])('is refused when its prompt is %s, and stores nothing', async (_what, given) => {
    const refusal = await refusalOf([model, { ...prompt, ...given }, image])
    expect(refusal).toEqual([400, 'invalid_value', 'prompt', 0])
  })

  it.each([
    ['two images [sync-7]', [model, prompt, image, image], 'invalid_value', 'image'],
    ['a text twice', [model, prompt, prompt, image], 'invalid_value', 'prompt'],
    ['a part without a name', [model, { value: 'x' }], 'read_request_body_failed', null],
    ['two names', [{ name: 'image"; name="n', value: '1' }], 'read_request_body_failed', null],
    ['an unknown field', [{ name: 'x', value: '1' }], 'unknown_parameter', 'x'],
  ])('is refused with %s, and stores nothing', async (_what, parts, code, param) => {
    expect(await refusalOf(parts)).toEqual([400, code, param, 0])
  })

  const stray = [
    ['without a disposition', 'X-Other: y'],
    ['attached', 'Content-Disposition: attachment; name="n"'],
    ['with a line break in its name', 'Content-Disposition: form-data; name="n\nm"'],
  ] as const
  it.each([
    ...stray.map(([what, head]) => [`a part ${what}`, `\r\n${head}\r\n\r\n2\r\n`] as const),
    ['a boundary line with a blank', ` \r\n${named}\r\n\r\n2\r\n`],
    ['a longer boundary line', `junk\r\n${named}\r\n\r\n2\r\n`],
    ['a part that is only its head', `\r\n${named}\r\n`],
  ] as const)('is refused with a part that the parser would skip: %s', async (_what, part) => {
    const whole = formBody([model, prompt, image])
    const boundary = whole.subarray(0, whole.indexOf('\r\n'))
    for (const body of [
      Buffer.concat([boundary, Buffer.from(part), whole]),
      Buffer.concat([whole.subarray(0, -4), Buffer.from(part), boundary, Buffer.from('--\r\n')]),
    ]) {
      const response = await postBytes(body)
      expect(response.status).toBe(400)
      expect(await errorOf(response)).toMatchObject({ code: 'read_request_body_failed' })
    }
    expect(api.tasks.openUploads.size).toBe(0)
  })

  const whole = formBody([model, prompt, image])

  it.each([
    [
      'with line feeds alone',
      Buffer.from(whole.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    ],
    [
      'with a boundary line inside its image',
      formBody([model, prompt, withBoundary(image, '\r\n')]),
    ],
    [
      'with the last line inside its image',
      formBody([model, prompt, withBoundary(image, '--\r\n')]),
    ],
    ['without a boundary line', Buffer.from('x'.repeat(100))],
    ['with a line feed before its first line', Buffer.concat([Buffer.from('\n'), whole])],
    [
      'with a line feed alone before its second line',
      Buffer.from(whole.toString('latin1').replace(/\r\n--(?=\S+\r\nContent)/, '\n--'), 'latin1'),
    ],
    ['with another form after its end', Buffer.concat([whole, Buffer.from('\r\n'), whole])],
  ])('is refused %s [sync-8]', async (_what, body) => {
    const response = await postBytes(body)
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code: 'read_request_body_failed' })
    expect(api.tasks.openUploads.size).toBe(0)
  })

  it('is read wherever it is cut as a form that is not whole [sync-8]', async () => {
    const boundary = formType.replace(/.*boundary=/, '')
    for (let length = 0; length < whole.length; length += 1) {
      let last: unknown
      for await (const part of readParts(whole.subarray(0, length), boundary)) last = part
      // The line end after the closing boundary is optional.
      expect([length, last === 'malformed']).toEqual([length, length < whole.length - 2])
    }
  })

  it.each([
    [
      'its texts together are',
      formBody([model, { ...prompt, value: 'x'.repeat(requestTextBytesMax) }]),
    ],
    [
      'it is as it is sent',
      Buffer.concat([Buffer.from(`${'x'.repeat(requestBesidesImagesBytesMax)}\r\n`), whole]),
    ],
  ])('is a 413 when %s too long [limit-1]', async (_what, body) => {
    const response = await postBytes(body)
    expect(response.status).toBe(413)
    expect(await errorOf(response)).toMatchObject({ code: 'read_request_body_failed' })
  })

  it('may have text before its first boundary line and after its last', async () => {
    const answering = postBytes(
      Buffer.concat([Buffer.from('preamble\r\n'), whole, Buffer.from('epilogue')]),
    )
    await api.tasks.succeed(await api.tasks.nextId())
    expect((await answering).status).toBe(200)
  })

  it.each([
    ['JSON', 'application/json'],
    ['no boundary', 'multipart/form-data'],
    ['a boundary too long to look for', `multipart/form-data; boundary=${'x'.repeat(300)}`],
    ['a boundary inside a quoted text', 'multipart/form-data; x="; boundary=a"'],
  ])('is refused as %s [sync-6]', async (_what, type) => {
    const response = await postBytes(Buffer.from('x'), type)
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code: 'unsupported_content_type' })
  })
})
