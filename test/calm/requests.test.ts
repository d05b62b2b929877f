import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient, errorOf } from '../support/clients/client.ts'
import { rawPost, sendRaw } from '../support/clients/rawCalls.ts'
import { editBody, generateBody, inputImage } from '../support/clients/requestBodies.ts'
import * as call from '../support/clients/syncCalls.ts'
import { redPixelPng } from '../support/images.ts'
import type { CalmService } from '../support/service/calmService.ts'
import { calmService } from '../support/service/calmService.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

let service: CalmService
/** All requests of this account are refused. */
let account: TestAccount
let client: Client
beforeAll(async () => {
  service = await calmService()
  account = await service.account()
  client = createClient(service.url, account.secret)
}, stackStartMsMax)

const familyA = 'familya-3-pro-image'
const data = redPixelPng.toString('base64')
const png = 'image/png'
const message = expect.any(String)
const type = 'invalid_request_error'

/** Counts the tasks and holds of an account. */
async function tasksOf(accountId: string): Promise<number | null> {
  const found = await service.pool.query(
    `select 1 from task where account_id = $1
     union all select 1 from ledger where account_id = $1 and kind = 'hold'`,
    [accountId],
  )
  return found.rowCount
}

const edited = (...images: unknown[]) => editBody({ input_images: images })
const seventeen = Array.from({ length: 17 }, () => inputImage())
const dataUrl = `data:${png};base64,${data}`
const firstData = 'input_images[0].data'

describe('a submit with a wrong value', () => {
  it.each([
    ['no model [task-1]', { model: undefined }, 'missing_required_parameter', 'model'],
    ['an unknown model [model-2]', { model: 'familyc-1' }, 'model_not_found', 'model'],
    ['no action [task-1]', { action: undefined }, 'missing_required_parameter', 'action'],
    ['an unknown action [task-2]', { action: 'vary' }, 'invalid_value', 'action'],
    ['no prompt [task-1]', { prompt: undefined }, 'missing_required_parameter', 'prompt'],
    ['an empty prompt [task-3]', { prompt: '' }, 'invalid_value', 'prompt'],
    ['a null prompt', { prompt: null }, 'missing_required_parameter', 'prompt'],
    ['n of 2 [task-12]', { n: 2 }, 'invalid_value', 'n'],
    ['n as text [task-12]', { n: '1' }, 'invalid_value', 'n'],
    ['an unknown field [task-13]', { style: 'vivid' }, 'unknown_parameter', 'style'],
    ['an unknown quality [task-9]', { quality: 'best' }, 'invalid_value', 'quality'],
    ['a size that no family has [task-6]', { size: '512x512' }, 'invalid_value', 'size'],
    ['a K tier on family B [task-6]', { size: '1K' }, 'invalid_value', 'size'],
    ['pixels on family A [task-6]', { model: familyA, size: '1024x1024' }, 'invalid_value', 'size'],
    [
      'a tier the model lacks [task-7]',
      { model: 'familya-2.5-flash-image', size: '4K' },
      'invalid_value',
      'size',
    ],
    ['a ratio on family B [task-8]', { aspect_ratio: '1:1' }, 'invalid_value', 'aspect_ratio'],
    [
      'an unknown ratio [task-8]',
      { model: familyA, aspect_ratio: '7:3' },
      'invalid_value',
      'aspect_ratio',
    ],
    [
      'a ratio the model lacks [task-7]',
      { model: familyA, aspect_ratio: '1:8' },
      'invalid_value',
      'aspect_ratio',
    ],
    [
      'images on generate [task-5]',
      { input_images: [inputImage()] },
      'invalid_value',
      'input_images',
    ],
    [
      'edit without images [task-4]',
      { action: 'edit' },
      'missing_required_parameter',
      'input_images',
    ],
    ['edit with an empty image list [task-4]', edited(), 'invalid_value', 'input_images'],
    ['seventeen images [task-4]', edited(...seventeen), 'invalid_value', 'input_images'],
    [
      'a type that differs from the bytes [image-3]',
      edited(inputImage(redPixelPng, 'image/webp')),
      'invalid_image',
      firstData,
    ],
    [
      'an unsupported image type [image-2]',
      edited(inputImage(redPixelPng, 'image/gif')),
      'invalid_value',
      'input_images[0].mime_type',
    ],
    [
      'a data-URL prefix [image-4]',
      edited({ mime_type: png, data: dataUrl }),
      'invalid_image',
      firstData,
    ],
    [
      'broken Base64 [image-4]',
      edited(inputImage(), { mime_type: png, data: `${data}*` }),
      'invalid_image',
      'input_images[1].data',
    ],
    [
      'an image without type [image-1]',
      edited({ data }),
      'missing_required_parameter',
      'input_images[0].mime_type',
    ],
    [
      'an image without data [image-1]',
      edited({ mime_type: png }),
      'missing_required_parameter',
      firstData,
    ],
    [
      'a field in an image [task-13]',
      edited({ ...inputImage(), name: 'x' }),
      'unknown_parameter',
      'input_images[0].name',
    ],
  ])('returns 400 and names the field: %s [error-400]', async (_what, given, code, param) => {
    const answer = await client.submit(generateBody(given))
    expect(answer.status).toBe(400)
    expect(await errorOf(answer)).toEqual({ message, type, param, code })
  })

  it.each([
    ['a duplicate field', '{"prompt":"a","prompt":"b"}', 'invalid_json', 'prompt'],
    ['broken JSON', '{"prompt":', 'invalid_json', null],
    ['no bytes', '', 'invalid_json', null],
    ['a list', '[]', 'invalid_json', null],
  ])('returns 400 with the reason for a body of %s [task-14]', async (_what, body, code, param) => {
    const answer = await client.submit(body)
    expect(answer.status).toBe(400)
    expect(await errorOf(answer)).toMatchObject({ code, param })
  })

  it('returns 400 with `unsupported_content_type` for another media type [submit-3]', async () => {
    const answer = await client.submit(generateBody(), { 'content-type': 'text/plain' })
    expect(answer.status).toBe(400)
    expect(await errorOf(answer)).toMatchObject({ code: 'unsupported_content_type' })
  })
})

describe('a synchronous image request with a wrong value', () => {
  it.each([
    ['an unknown model', { model: 'familyc-1' }, 'model_not_found', 'model'],
    ['a model of family A [model-3]', { model: familyA }, 'model_not_found', 'model'],
    ['an empty prompt', { prompt: '' }, 'invalid_value', 'prompt'],
    ['an unknown size', { size: '512x512' }, 'invalid_value', 'size'],
    ['an unknown quality', { quality: 'best' }, 'invalid_value', 'quality'],
    ['two images', { n: '2' }, 'invalid_value', 'n'],
    ['an aspect ratio', { aspect_ratio: '1:1' }, 'unknown_parameter', 'aspect_ratio'],
  ] as const)('returns 400 and names the field: %s [sync-5]', async (_what, given, code, param) => {
    const fields = { prompt: 'x', ...given }
    for (const answer of [await call.generate(client, fields), await call.edit(client, fields)]) {
      expect(answer.status).toBe(400)
      expect(await errorOf(answer)).toEqual({ message, type, param, code })
    }
  })

  it('requires a model, a prompt and, for an edit, an image [sync-4]', async () => {
    const { model, prompt } = { model: 'familyb-image-2-web', prompt: 'x' }
    const answers = {
      model: await call.generate(client, { model: undefined, prompt }),
      prompt: await call.generate(client, { model }),
      image: await call.edit(client, { model, prompt }, Buffer.alloc(0)),
    }
    for (const [param, answer] of Object.entries(answers)) {
      expect(answer.status).toBe(400)
      expect(await errorOf(answer)).toMatchObject({ param })
    }
  })
})

describe('a refused request', () => {
  it('leaves no task and no hold', async () => {
    expect(await tasksOf(account.accountId)).toBe(0)
  })
})

describe('an Idempotency-Key', () => {
  let keyed: Client
  beforeAll(async () => {
    keyed = createClient(service.url, (await service.account()).secret)
  })

  const send = (keys: readonly string[], encoding?: BufferEncoding) => {
    const lines = keys.map((key) => `Idempotency-Key: ${key}`)
    const head = [`Authorization: ${keyed.authorization}`, ...lines]
    return sendRaw(service.url, rawPost('/v1/images/tasks', head, generateBody(), encoding))
  }

  it.each([
    ['255 bytes', 'k'.repeat(255), 'latin1'],
    ['255 bytes above ASCII', 'é'.repeat(255), 'latin1'],
    ['254 bytes in 127 letters', 'é'.repeat(127), 'utf8'],
  ] as const)(
    'is accepted and replays by its bytes: %s [idem-2, idem-4]',
    async (_what, key, encoding) => {
      for (const replayed of ['false', 'true']) {
        expect(await send([key], encoding)).toMatch(
          new RegExp(`^HTTP/1.1 202 [\\s\\S]*idempotent-replayed: ${replayed}`, 'i'),
        )
      }
    },
  )

  it.each([
    ['256 bytes', ['k'.repeat(256)], 'latin1'],
    ['256 bytes in 128 letters', ['é'.repeat(128)], 'utf8'],
    ['empty', [''], 'latin1'],
    ['sent twice', ['a', 'a'], 'latin1'],
  ] as const)('returns 400: %s [idem-4]', async (_what, keys, encoding) => {
    const answer = await send(keys, encoding)
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('"param":"Idempotency-Key","code":"invalid_value"')
  })

  it('belongs to its account: another account makes its own task with the same key [idem-5]', async () => {
    const other = createClient(service.url, (await service.account()).secret)
    const headers = { 'idempotency-key': 'shared' }
    const mine = await keyed.accepted(generateBody(), headers)
    const theirs = await other.accepted(generateBody({ prompt: 'Another' }), headers)
    expect(theirs.task_id).not.toBe(mine.task_id)
  })
})
