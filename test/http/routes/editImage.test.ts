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

/** A part may be in UTF-16, and may contain a lone surrogate. */
const halfOfAPair: FormPart = {
  ...prompt,
  type: 'text/plain; charset=utf-16le',
  value: Buffer.from('a\ud800', 'utf16le'),
}

/** Not UTF-8: valid only when the part names its charset. */
const latin1Prompt: FormPart = { ...prompt, value: Buffer.from('a lighthouse, größer', 'latin1') }

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
    ['as a client library sends it', [model, prompt, image]],
    ['a stream without name or type', [model, prompt, { name: 'image', value: redPixelPng }]],
    ['a wrong type', [model, prompt, { ...image, type: 'image/webp' }]],
    ['an image with a charset', [model, prompt, { ...image, type: 'image/png; charset=binary' }]],
    ['a number as text', [model, prompt, image, { name: 'n', value: '1' }]],
    [
      'a text that says it is UTF-8',
      [model, { ...prompt, type: 'text/plain; charset=utf-8' }, image],
    ],
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

  it.each([
    ['two images [sync-7]', [model, prompt, image, image], 'invalid_value', 'image'],
    ['an empty image', [model, prompt, { ...image, value: '' }], 'invalid_image', 'image'],
    [
      'text for an image [sync-7]',
      [model, prompt, { ...image, value: 'x' }],
      'invalid_image',
      'image',
    ],
    [
      'an image beyond 20 MiB [sync-7]',
      [model, prompt, { ...image, value: paddedPng(20 * 1024 * 1024 + 1, 0) }],
      'invalid_image',
      'image',
    ],
    ['a text twice', [model, prompt, prompt, image], 'invalid_value', 'prompt'],
    ['NUL', [model, { ...prompt, value: 'a\0' }, image], 'invalid_value', 'prompt'],
    ['a lone surrogate', [model, halfOfAPair, image], 'invalid_value', 'prompt'],
    ['bytes that are not UTF-8', [model, latin1Prompt, image], 'invalid_value', 'prompt'],
    [
      'bytes that are not the UTF-8 they are said to be',
      [model, { ...latin1Prompt, type: 'text/plain; charset=UTF-8' }, image],
      'invalid_value',
      'prompt',
    ],
    ...[
      { name: 'image"; name="prompt' },
      { name: 'image"; filename="a"; name="prompt' },
      { filename: 'a; name=image"; name="prompt' },
      { name: 'prompt', filename: 'a; name="image' },
      { name: 'prompt', type: 'text/plain; name="image"; charset=ISO-8859-1' },
      { name: 'prompt', type: 'text/plain; charset=ISO-8859-1\r\nX-Origin: a name="image"' },
    ].map(
      (head) =>
        [
          `a text in another charset whose head also says image: ${JSON.stringify(head)}`,
          [
            model,
            { value: latin1Prompt.value, type: 'text/plain; charset=ISO-8859-1', ...head },
            image,
          ],
          'invalid_value',
          expect.any(String),
        ] as const,
    ),
    [
      'a text in UTF-7',
      [model, { ...prompt, value: 'a', type: 'text/plain;\r\n Charset = "utf-7"' }, image],
      'invalid_value',
      'prompt',
    ],
    [
      'a text in a transfer encoding',
      [
        model,
        { ...prompt, value: 'YQ==', type: 'text/plain\r\ncontent-transfer-encoding: base64' },
        image,
      ],
      'invalid_value',
      'prompt',
    ],
    [
      'an image in a transfer encoding',
      [model, prompt, { ...image, type: 'image/png\r\nContent-Transfer-Encoding: base64' }],
      'invalid_value',
      'image',
    ],
    ['a part without a name', [model, { value: 'x' }], 'read_request_body_failed', null],
    [
      'a hundred parts',
      Array.from({ length: 100 }, (_, i) => ({ name: `n${i}`, value: 'x' })),
      'unknown_parameter',
      'n0',
    ],
  ] as const)('is refused with %s, and stores nothing', async (_what, parts, code, param) => {
    const before = api.blobs.content.size
    const response = await post(parts)
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code, param })
    expect(api.tasks.openUploads.size).toBe(0)
    expect(api.blobs.content.size).toBe(before)
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
