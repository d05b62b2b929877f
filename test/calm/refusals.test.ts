import { describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { editBody, generateBody, inputImage } from '../support/clients/requestBodies.ts'
import { errorResponse } from '../support/clients/responses.ts'
import * as call from '../support/clients/syncCalls.ts'
import { redPixelPng } from '../support/images.ts'
import { calmService } from '../support/service/calmService.ts'

// The one table of what each route that makes a task refuses, with the code and the field that the answer names. Forms
// that are broken as forms are in test/http/routes/editImage.test.ts.

const service = await calmService()
/** All requests of this account are refused. */
const account = await service.account()
const client = createClient(service.url, account.secret)

function estimate(body: unknown): Promise<Response> {
  return fetch(`${service.url}/v1/estimate`, {
    method: 'POST',
    headers: { authorization: client.authorization, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** Returns the code and the field of a 400, such as `invalid_value size`. Throws when the answer is another. */
async function refusalOf(answer: Response): Promise<string> {
  const { type, code, param } = errorResponse.parse(await answer.json()).error
  if (answer.status !== 400 || type !== 'invalid_request_error') {
    throw new Error(`not refused: ${answer.status} ${type}`)
  }
  return `${code} ${param}`
}

const familyA = 'familya-3-pro-image'
const png = 'image/png'
const data = redPixelPng.toString('base64')
const edited = (...images: unknown[]) => editBody({ input_images: images })
const seventeen = Array.from({ length: 17 }, () => inputImage())
const webp = inputImage(redPixelPng, 'image/webp')
const gif = inputImage(redPixelPng, 'image/gif')
const firstData = 'input_images[0].data'
const firstType = 'input_images[0].mime_type'

describe('a submit with a wrong value', () => {
  it.each([
    ['no model [task-1]', { model: undefined }, 'missing_required_parameter model'],
    ['an unknown model [model-2]', { model: 'familyc-1' }, 'model_not_found model'],
    ['no action [task-1]', { action: undefined }, 'missing_required_parameter action'],
    ['an unknown action [task-2]', { action: 'vary' }, 'invalid_value action'],
    ['no prompt [task-1]', { prompt: undefined }, 'missing_required_parameter prompt'],
    ['an empty prompt [task-3]', { prompt: '' }, 'invalid_value prompt'],
    ['NUL [task-14]', { prompt: 'a\0b' }, 'invalid_value prompt'],
    ['a lone surrogate [task-14]', { prompt: 'a\ud800b' }, 'invalid_value prompt'],
    ['n of 2 [task-12]', { n: 2 }, 'invalid_value n'],
    ['n as text [task-12]', { n: '1' }, 'invalid_value n'],
    ['an unknown field [task-13]', { style: 'vivid' }, 'unknown_parameter style'],
    ['a long unknown field', { ['x'.repeat(10_000)]: 1 }, `unknown_parameter ${'x'.repeat(200)}…`],
    ['an unknown quality [task-9]', { quality: 'best' }, 'invalid_value quality'],
    ['a size that no family has [task-6]', { size: '512x512' }, 'invalid_value size'],
    ['a K tier on family B [task-6]', { size: '1K' }, 'invalid_value size'],
    ['pixels on family A [task-6]', { model: familyA, size: '1024x1024' }, 'invalid_value size'],
    [
      'a tier the model lacks [task-7]',
      { model: 'familya-2.5-flash-image', size: '4K' },
      'invalid_value size',
    ],
    ['a ratio on family B [task-8]', { aspect_ratio: '1:1' }, 'invalid_value aspect_ratio'],
    [
      'an unknown ratio [task-8]',
      { model: familyA, aspect_ratio: '7:3' },
      'invalid_value aspect_ratio',
    ],
    ['images on generate [task-5]', { input_images: [inputImage()] }, 'invalid_value input_images'],
    ['edit without images [task-4]', { action: 'edit' }, 'missing_required_parameter input_images'],
    ['edit with an empty image list [task-4]', edited(), 'invalid_value input_images'],
    ['seventeen images [task-4]', edited(...seventeen), 'invalid_value input_images'],
    ['an image that is not an object', edited(7), 'invalid_value input_images[0]'],
    ['a type that differs from the bytes [image-3]', edited(webp), `invalid_image ${firstData}`],
    ['an unsupported image type [image-2]', edited(gif), `invalid_value ${firstType}`],
    [
      'a data-URL prefix [image-4]',
      edited({ mime_type: png, data: `data:${png};base64,${data}` }),
      `invalid_image ${firstData}`,
    ],
    [
      'broken Base64 [image-4]',
      edited(inputImage(), { mime_type: png, data: `${data}*` }),
      'invalid_image input_images[1].data',
    ],
    [
      'an image without type [image-1]',
      edited({ data }),
      `missing_required_parameter ${firstType}`,
    ],
    [
      'a field in an image [task-13]',
      edited({ ...inputImage(), name: 'x' }),
      'unknown_parameter input_images[0].name',
    ],
  ])(
    'returns 400 and names the field, as does its estimate: %s [error-400, estimate-3]',
    async (_what, given, refusal) => {
      expect(await refusalOf(await client.submit(generateBody(given)))).toBe(refusal)
      expect(await refusalOf(await estimate(generateBody(given)))).toBe(refusal)
    },
  )

  it('may leave out the data of an image in an estimate alone [image-1, estimate-3]', async () => {
    const given = generateBody(edited({ mime_type: png }))
    const refusal = `missing_required_parameter ${firstData}`
    expect(await refusalOf(await client.submit(given))).toBe(refusal)
    expect((await estimate(given)).status).toBe(200)
    const wrongSecond = generateBody(edited({ mime_type: png }, webp))
    const second = 'invalid_image input_images[1].data'
    expect(await refusalOf(await estimate(wrongSecond))).toBe(second)
  })

  it.each([
    ['a duplicate field', '{"prompt":"a","prompt":"b"}', 'invalid_json prompt'],
    ['broken JSON', '{"prompt":', 'invalid_json null'],
    ['a text', '"text"', 'invalid_json null'],
    ['a number out of range', '{"n":1e999}', 'invalid_value n'],
    ['NUL in the name of a field', '{"a\\u0000":1}', 'invalid_value null'],
    [
      'a prototype',
      JSON.stringify(generateBody()).replace('{', '{"__proto__":1,'),
      'unknown_parameter __proto__',
    ],
  ])('returns 400 with the reason for a body of %s [task-14]', async (_what, body, refusal) => {
    expect(await refusalOf(await client.submit(body))).toBe(refusal)
    expect(await refusalOf(await estimate(body))).toBe(refusal)
  })

  it.each(['', 'text/plain', 'application/json; charset=latin1'])(
    'returns 400 with `unsupported_content_type` for the media type "%s" [submit-3]',
    async (type) => {
      const answer = await client.submit(generateBody(), { 'content-type': type })
      expect(await refusalOf(answer)).toBe('unsupported_content_type Content-Type')
    },
  )
})

describe('a synchronous image request with a wrong value', () => {
  it.each([
    ['an unknown model', { model: 'familyc-1' }, 'model_not_found model'],
    ['a model of family A [model-3]', { model: familyA }, 'model_not_found model'],
    ['a K tier', { size: '1K' }, 'invalid_value size'],
    ['two images', { n: '2' }, 'invalid_value n'],
    ['an aspect ratio', { aspect_ratio: '1:1' }, 'unknown_parameter aspect_ratio'],
    ['a mask', { mask: 'x' }, 'unknown_parameter mask'],
  ] as const)('returns 400 and names the field: %s [sync-5]', async (_what, given, refusal) => {
    const fields = { prompt: 'x', ...given }
    expect(await refusalOf(await call.generate(client, fields))).toBe(refusal)
    expect(await refusalOf(await call.edit(client, fields))).toBe(refusal)
  })

  it('requires a model, a prompt and, for an edit, an image [sync-4]', async () => {
    const missing = 'missing_required_parameter'
    const noModel = await call.generate(client, { model: undefined, prompt: 'x' })
    expect(await refusalOf(noModel)).toBe(`${missing} model`)
    expect(await refusalOf(await call.generate(client, {}))).toBe(`${missing} prompt`)
    const noImage = await call.edit(client, { prompt: 'x' }, Buffer.alloc(0))
    expect(await refusalOf(noImage)).toBe('invalid_image image')
  })
})

const part = (more: object) => ({ contents: [{ parts: [{ text: 'x' }, more] }] })
const turn = (...parts: readonly object[]) => ({ contents: [{ parts }] })
const config = (generationConfig: object) => ({ generationConfig })

describe('a content request with a wrong value', () => {
  it.each([
    ['no contents', { contents: undefined }, 'missing_required_parameter contents'],
    ['empty contents', { contents: [] }, 'invalid_value contents'],
    ['only empty text', turn({ text: '' }), 'invalid_value contents'],
    ['an empty part', turn({}), 'invalid_value contents[0].parts[0]'],
    [
      'a role of neither side',
      { contents: [{ role: 'system', parts: [{ text: 'x' }] }] },
      'invalid_value contents[0].role',
    ],
    ['a tool', { tools: [{}] }, 'invalid_value tools'],
    ['cached_content', { cached_content: 'x' }, 'unknown_parameter cached_content'],
    ['file_data', part({ file_data: {} }), 'unknown_parameter contents[0].parts[1].file_data'],
    [
      'stop sequences',
      config({ stopSequences: ['x'] }),
      'unknown_parameter generationConfig.stopSequences',
    ],
    [
      'two candidates',
      config({ candidate_count: 2 }),
      'invalid_value generationConfig.candidate_count',
    ],
    [
      'no image wanted',
      config({ responseModalities: ['TEXT'] }),
      'invalid_value generationConfig.responseModalities',
    ],
    [
      'a ratio that the model lacks',
      { generation_config: { image_config: { aspect_ratio: '1:8' } } },
      'invalid_value generation_config.image_config.aspect_ratio',
    ],
    [
      'thinking for a model that has none (AIStudioToAPI#213)',
      config({ thinkingConfig: { thinkingLevel: 'LOW' } }),
      'invalid_value generationConfig.thinkingConfig',
      'familya-2.5-flash-image',
    ],
    [
      'one field in both casings',
      { ...config({}), generation_config: {} },
      'invalid_value generation_config',
    ],
  ])(
    'returns 400 and names the field in the casing of the client: %s [content-3]',
    async (_what, fields, refusal, model = familyA) => {
      const body = { contents: [{ parts: [{ text: 'x' }] }], ...fields }
      const answer = await call.content(client, 'generateContent', body, model)
      expect(await refusalOf(answer)).toBe(refusal)
    },
  )
})

describe('a refused request', () => {
  it('leaves no task and no hold', async () => {
    const found = await service.pool.query(
      `select 1 from task where account_id = $1
       union all select 1 from ledger where account_id = $1 and kind = 'hold'`,
      [account.accountId],
    )
    expect(found.rowCount).toBe(0)
  })
})
