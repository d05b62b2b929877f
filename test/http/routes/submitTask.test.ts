import { describe, expect, it, vi } from 'vitest'
import { requestTextBytesMax } from '../../../src/domain/limits.ts'
import { NothingWrittenError } from '../../../src/domain/nothingWrittenError.ts'
import { editBody, generateBody, inputImage } from '../../support/clients/requestBodies.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { paddedPng, redPixelPng } from '../../support/images.ts'

const api = useTestApi({ ingressLimitBytes: 32 * 1024 * 1024 })

const tasks = '/v1/images/tasks'
const contents = '/v1beta/models/familya-3-pro-image:asyncGenerateContent'

async function refusal(path: string, body: string | object) {
  const response = await api.postJson(path, body)
  expect(response.status).toBe(400)
  const { code, param } = errorResponse.parse(await response.json()).error
  return [code, param]
}

/** Returns the bytes of the first image of the newest task. */
function storedImage(): Buffer | undefined {
  const [input] = api.tasks.accepted.at(-1)?.request.inputs ?? []
  return api.blobs.content.get(input?.blobKey ?? '')
}

describe('a field named __proto__', () => {
  const field = '"__proto__":{"a":"x"}'
  /** Puts the field behind the last one of an object that is written in JSON. */
  const withField = (object: object) => JSON.stringify(object).replace(/}$/, `,${field}}`)
  const generation = { model: 'familyb-image-2-vip', prompt: 'x' }
  const content = { contents: [{ parts: [{ text: 'x' }] }] }
  const inImage = JSON.stringify(editBody({ input_images: [0] })).replace(
    '[0]',
    `[${withField(inputImage())}]`,
  )

  it.each([
    [tasks, withField(generateBody()), '__proto__'],
    [tasks, inImage, 'input_images[0].__proto__'],
    ['/v1/images/generations', withField(generation), '__proto__'],
    [contents, withField(content), '__proto__'],
    ['/v1/models/familya-3-pro-image:generateContent', withField(content), '__proto__'],
    [
      contents,
      `{"contents":[{"parts":[{"text":"x",${field}}]}]}`,
      'contents[0].parts[0].__proto__',
    ],
    ['/v1/webhooks', withField({ url: 'https://example.test/' }), '__proto__'],
  ])('is refused by its name: %s %s [task-13]', async (path, body, param) => {
    expect(await refusal(path, body)).toEqual(['unknown_parameter', param])
  })
})

describe('an image in JSON', () => {
  const png = paddedPng(200_000, 0xfb)
  const base64 = png.toString('base64')
  const sent = (data: string) =>
    JSON.stringify(editBody({ prompt: 'schön', input_images: [inputImage()] })).replace(
      redPixelPng.toString('base64'),
      data,
    )

  it.each([
    ['as it is', (data: string) => data],
    ['with escaped slashes, as PHP writes them', (data: string) => data.replaceAll('/', '\\/')],
    [
      'with escaped plus signs, as .NET writes them',
      (data: string) => data.replaceAll('+', '\\u002B'),
    ],
  ])(
    'is stored byte for byte %s, behind letters of several bytes [image-4]',
    async (_what, write) => {
      const body = sent(write(base64))
      expect((await api.postJson(tasks, body)).status).toBe(202)
      expect(storedImage()?.equals(png)).toBe(true)
      expect((await api.postJson(tasks, `\ufeff${body}`)).status).toBe(202)
      expect(storedImage()?.equals(png)).toBe(true)
    },
  )

  it.each(['inlineData', 'inline_data'])(
    'may be URL-safe on the routes of family A, and is named in the casing of the client: %s [content-3]',
    async (name) => {
      const body = (data: string) => ({
        contents: [{ parts: [{ text: 'x' }, { [name]: { mimeType: 'image/png', data } }] }],
      })
      const urlSafe = png.toString('base64').replaceAll('+', '-').replaceAll('/', '_')
      expect((await api.postJson(contents, body(urlSafe))).status).toBe(202)
      expect(storedImage()?.equals(png)).toBe(true)
      const param = `contents[0].parts[1].${name}.data`
      expect(await refusal(contents, body('!'))).toEqual(['invalid_image', param])
    },
  )
})

it('the texts of a body have 4 MiB to the byte; beyond is a 413 [limit-1]', async () => {
  const { length: others } = Object.entries(generateBody({ prompt: '' }))
    .flat()
    .join('')
  const submit = (bytes: number) =>
    api.postJson(tasks, generateBody({ prompt: 'x'.repeat(bytes - others) }))
  expect((await submit(requestTextBytesMax)).status).toBe(202)
  const refused = await submit(requestTextBytesMax + 1)
  expect(refused.status).toBe(413)
  expect(errorResponse.parse(await refused.json()).error).toMatchObject({
    message: 'texts of the request body exceed 4 MB: request body too large',
    code: 'read_request_body_failed',
  })
})

const errorOf = async (response: Response) => errorResponse.parse(await response.json()).error

it('a submit that makes no new task discards its upload [submit-2]', async () => {
  const before = api.blobs.content.size
  const headers = { 'Idempotency-Key': 'replay me' }
  const first = await api.postJson(tasks, editBody(), headers)
  const second = await api.postJson(tasks, editBody(), headers)
  expect(second.headers.get('location')).toBe(first.headers.get('location'))
  const other = await api.postJson(tasks, editBody({ prompt: 'other' }), headers)
  expect(other.status).toBe(409)
  expect((await errorOf(other)).code).toBe('idempotency_key_reused')
  expect(api.tasks.openUploads.size).toBe(0)
  const added = [...api.blobs.content.keys()].slice(before)
  expect(added).toEqual([`${api.tasks.accepted.at(-1)?.uploadId}/0`])
})

it('a submit records its upload before it stores an image, so that the sweep finds what a killed process leaves', async () => {
  const put = vi.spyOn(api.blobs, 'put')
  put.mockImplementation(async (...blobs) => {
    const prefixes = blobs.map(([key]) => key.split('/')[0])
    expect([...api.tasks.openUploads]).toEqual(prefixes)
    throw new Error('the process is killed here')
  })
  expect((await api.postJson(tasks, editBody())).status).toBe(500)
  expect(put).toHaveBeenCalledOnce()
  put.mockRestore()
})

it('a submit may name its media type in any casing, and its task keeps the id of the request', async () => {
  const headers = { 'Content-Type': 'Application/JSON; charset="UTF-8"' }
  const response = await api.postJson(tasks, generateBody(), headers)
  expect(api.tasks.accepted.at(-1)?.requestId).toBe(response.headers.get('x-request-id'))
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
    const response = await api.postJson(tasks, editBody(), headers)
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
