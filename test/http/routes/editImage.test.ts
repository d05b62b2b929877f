import { expect, it } from 'vitest'
import { requestBesidesImagesBytesMax, requestTextBytesMax } from '../../../src/domain/limits.ts'
import { readParts } from '../../../src/http/intake/formParts.ts'
import type { FormPart } from '../../support/clients/requestBodies.ts'
import { formBody, formType } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { paddedPng, redPixelPng } from '../../support/images.ts'

const api = useTestApi({ ingressLimitBytes: 32 * 1024 * 1024 })

const model: FormPart = { name: 'model', value: 'familyb-image-2-web' }
const prompt: FormPart = { name: 'prompt', value: 'a lighthouse, größer' }
const image: FormPart = { name: 'image', filename: 'a.png', type: 'image/png', value: redPixelPng }
const whole = formBody([model, prompt, image])
const boundary = whole.subarray(0, whole.indexOf('\r\n'))

const withPrompt = (given: Partial<FormPart>) => formBody([model, { ...prompt, ...given }, image])
const withImage = (given: Partial<FormPart>) => formBody([model, prompt, { ...image, ...given }])
const withPart = (part: FormPart) => formBody([model, prompt, image, part])
const joined = (...pieces: (string | Uint8Array)[]) =>
  Buffer.concat(pieces.map((p) => Buffer.from(p)))
const rewritten = (from: string | RegExp, to: string) =>
  Buffer.from(whole.toString('latin1').replaceAll(from, to), 'latin1')

function post(bytes: Uint8Array, type = formType): Promise<Response> {
  const body = new Uint8Array(bytes)
  const headers = { 'Content-Type': type }
  return api.send('/v1/images/edits', { method: 'POST', body, headers })
}

it.each([
  ['a wrong type', withImage({ type: 'image/webp' })],
  ['an image with a charset', withImage({ type: 'image/png; charset=binary' })],
  ['a number as text', withPart({ name: 'n', value: '1' })],
  [
    'a transfer encoding that changes nothing',
    withPrompt({ type: 'text/plain\r\nContent-Transfer-Encoding: 8bit' }),
  ],
  ['a name that is a token', formBody([{ ...model, quote: '' }, prompt, image])],
  [
    'an image without a file name (coder/xum#3286)',
    formBody([model, prompt, { name: 'image', value: redPixelPng }]),
  ],
  ['a file name with quotes', withImage({ filename: `a; name=prompt \\"'.png` })],
  ['text before its first boundary line and after its last', joined('a\r\n', whole, 'epilogue')],
])('an edits form is accepted with %s [sync-6]', async (_what, body) => {
  const answering = post(body)
  await api.tasks.succeed(await api.tasks.nextId())
  expect((await answering).status).toBe(200)
  const { request, uploadId } = api.tasks.accepted.at(-1) ?? {}
  expect(request).toMatchObject({
    route: 'images.edits',
    body: { prompt: 'a lighthouse, größer' },
    inputs: [{ blobKey: `${uploadId}/0`, mimeType: 'image/png', bytes: redPixelPng.length }],
  })
})

const encoded = (type: string) => `${type}\r\ncontent-transfer-encoding: base64`
const latin1 = Buffer.from('a lighthouse, größer', 'latin1')
const utf16 = Buffer.from('a\ud800', 'utf16le')
const named = 'Content-Disposition: form-data; name="n"'
const malformed = '400 read_request_body_failed null'

/** Puts a boundary line into the middle of the image. */
const cutImage = (lineEnd: string) =>
  withImage({ value: joined(redPixelPng, '\r\n', boundary, lineEnd, redPixelPng) })

/** Forms with a part that a careless reader would skip, at the start and at the end. */
const skipped = [
  ['a part without a disposition', '\r\nX-Other: y\r\n\r\n2\r\n'],
  ['an attached part', '\r\nContent-Disposition: attachment; name="n"\r\n\r\n2\r\n'],
  ['a line break in a name', '\r\nContent-Disposition: form-data; name="n\nm"\r\n\r\n2\r\n'],
  ['a boundary line with a blank', ` \r\n${named}\r\n\r\n2\r\n`],
  ['a longer boundary line', `junk\r\n${named}\r\n\r\n2\r\n`],
  ['a part that is only its head', `\r\n${named}\r\n`],
].flatMap(([what = '', part = '']): (readonly [string, Buffer, string])[] => [
  [`${what} at its start`, joined(boundary, part, whole), malformed],
  [`${what} at its end`, joined(whole.subarray(0, -4), part, boundary, '--\r\n'), malformed],
])

it.each<readonly [string, Buffer, string]>([
  ['an empty image', withImage({ value: '' }), '400 invalid_image image'],
  ['a text as image', withImage({ value: 'x' }), '400 invalid_image image'],
  [
    'an image beyond 20 MiB',
    withImage({ value: paddedPng(20 * 1024 * 1024 + 1, 0) }),
    '400 invalid_image image',
  ],
  ['a coded image', withImage({ type: encoded('image/png') }), '400 invalid_value image'],
  ['two images', withPart(image), '400 invalid_value image'],
  ['NUL', withPrompt({ value: 'a\0' }), '400 invalid_value prompt'],
  ['no UTF-8', withPrompt({ value: latin1 }), '400 invalid_value prompt'],
  [
    'UTF-16',
    withPrompt({ value: utf16, type: 'text/plain; charset=utf-16le' }),
    '400 invalid_value prompt',
  ],
  [
    'UTF-7',
    withPrompt({ value: 'a', type: 'text/plain;\r\n Charset = "utf-7"' }),
    '400 invalid_value prompt',
  ],
  ['a coded text', withPrompt({ type: encoded('text/plain') }), '400 invalid_value prompt'],
  [
    'a text whose head also says image',
    withPrompt({ type: 'text/plain; name="image"; charset=ISO-8859-1' }),
    '400 invalid_value prompt',
  ],
  ['a text twice', withPart(prompt), '400 invalid_value prompt'],
  ['an unknown field', withPart({ name: 'x', value: '1' }), '400 unknown_parameter x'],
  ['a part without a name', withPart({ value: 'x' }), malformed],
  ['a part with two names', withPart({ name: 'image"; name="n', value: '1' }), malformed],
  ...skipped,
  ['line feeds alone [sync-8]', rewritten('\r\n', '\n'), malformed],
  ['a boundary line inside its image [sync-8]', cutImage('\r\n'), malformed],
  ['the last line inside its image [sync-8]', cutImage('--\r\n'), malformed],
  ['no boundary line [sync-8]', Buffer.from('x'.repeat(100)), malformed],
  ['a line feed before its first line [sync-8]', joined('\n', whole), malformed],
  ['a line feed alone before a line [sync-8]', rewritten(/(?<=web)\r\n--/g, '\n--'), malformed],
  ['another form after its end [sync-8]', joined(whole, '\r\n', whole), malformed],
  [
    'too long texts [limit-1]',
    withPrompt({ value: 'x'.repeat(requestTextBytesMax) }),
    '413 read_request_body_failed ',
  ],
  [
    // With what a search of the text would find, so that the answer tells whether it was searched.
    'too long texts, before they are searched [limit-1]',
    withPrompt({ value: joined('\n', boundary, 'x'.repeat(requestTextBytesMax)) }),
    '413 read_request_body_failed ',
  ],
  [
    'too many bytes besides its image [limit-1]',
    joined('x'.repeat(requestBesidesImagesBytesMax), '\r\n', whole),
    '413 read_request_body_failed ',
  ],
])(
  'an edits form is refused with %s, and leaves nothing behind [sync-7]',
  async (_what, body, refusal) => {
    const stored = api.blobs.content.size
    const answer = await post(body)
    const { code, param } = errorResponse.parse(await answer.json()).error
    expect(`${answer.status} ${code} ${param}`).toBe(refusal)
    expect([api.blobs.content.size - stored, api.tasks.openUploads.size]).toEqual([0, 0])
  },
)

it('an edits form is read wherever it is cut as one that is not whole [sync-8]', async () => {
  for (let length = 0; length < whole.length; length += 1) {
    let last: unknown
    for await (const part of readParts(whole.subarray(0, length), String(boundary.subarray(2)))) {
      last = part
    }
    // The line end after the closing boundary is optional.
    expect([length, last === 'malformed']).toEqual([length, length < whole.length - 2])
  }
})

it.each([
  ['JSON', 'application/json'],
  ['no boundary', 'multipart/form-data'],
  ['a boundary too long to look for', `multipart/form-data; boundary=${'x'.repeat(300)}`],
  ['a boundary inside a quoted text', 'multipart/form-data; x="; boundary=a"'],
])('an edit is refused as %s [sync-6]', async (_what, type) => {
  const { error } = errorResponse.parse(await (await post(whole, type)).json())
  expect(error).toMatchObject({ code: 'unsupported_content_type' })
})
