import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { editBody, generateBody, inputImage } from '../support/clients/requestBodies.ts'
import * as call from '../support/clients/syncCalls.ts'
import { redPixelPng } from '../support/images.ts'
import type { CalmService } from '../support/service/calmService.ts'
import { calmService } from '../support/service/calmService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

let service: CalmService
let client: Client
beforeAll(async () => {
  // No worker: these tests only need accepted tasks, and no synchronous call here is accepted.
  service = await calmService()
  client = createClient(service.url, (await service.account()).secret)
}, stackStartMsMax)

const contents = (text: string) => ({ contents: [{ parts: [{ text }] }] })

/** Every route that makes a task, with a valid body. */
const routes: readonly (readonly [string, (by: Client, prompt?: string) => Promise<Response>])[] = [
  ['a submit', (by, prompt = 'x') => by.submit(generateBody({ prompt }))],
  ['generations', (by, prompt = 'x') => call.generate(by, { prompt })],
  ['edits', (by, prompt = 'x') => call.edit(by, { prompt })],
  ['generateContent', (by, prompt = 'x') => call.content(by, 'generateContent', contents(prompt))],
  [
    'asyncGenerateContent',
    (by, prompt = 'x') => call.content(by, 'asyncGenerateContent', contents(prompt)),
  ],
]

async function errorOf(answer: Response): Promise<Record<string, unknown>> {
  const body: unknown = await answer.json()
  return Object(body).error
}

const message = expect.any(String)

describe('every route that makes a task', () => {
  it.each(routes)('returns 401 without a valid key: %s [auth-1]', async (_what, send) => {
    const answer = await send(createClient(service.url, `sk-${'x'.repeat(48)}`))
    expect(answer.status).toBe(401)
    expect(await errorOf(answer)).toMatchObject({ code: 'invalid_api_key' })
  })

  it.each(routes)(
    'returns 403 for an account without balance: %s [auth-3]',
    async (_what, send) => {
      const answer = await send(createClient(service.url, (await service.account(0)).secret))
      expect(answer.status).toBe(403)
      const code = 'insufficient_user_quota'
      expect(await errorOf(answer)).toEqual({ message, type: 'new_api_error', param: '', code })
    },
  )

  it('returns 413 beyond the ingress limit that the operator sets [error-413]', async () => {
    const small = await service.startApi({ INGRESS_LIMIT_BYTES: '2048' })
    onTestFinished(() => small.stop())
    const by = createClient(small.url, client.authorization.replace('Bearer ', ''))
    const code = 'read_request_body_failed'
    for (const [what, send] of routes) {
      const answer = await send(by, 'x'.repeat(4096))
      expect([what, answer.status]).toEqual([what, 413])
      expect(await errorOf(answer)).toEqual({ message, type: 'new_api_error', param: '', code })
    }
    expect((await by.submit(generateBody())).status).toBe(202)
  })
})

describe('a synchronous image request', () => {
  const wrong = [
    ['an unknown model', { model: 'familyc-1' }, 'model_not_found', 'model'],
    ['a model of family A [model-3]', { model: 'familya-3-pro-image' }, 'model_not_found', 'model'],
    ['an empty prompt', { prompt: '' }, 'invalid_value', 'prompt'],
    ['an unknown size', { size: '512x512' }, 'invalid_value', 'size'],
    ['an unknown quality', { quality: 'best' }, 'invalid_value', 'quality'],
    ['two images', { n: '2' }, 'invalid_value', 'n'],
    ['an aspect ratio', { aspect_ratio: '1:1' }, 'unknown_parameter', 'aspect_ratio'],
  ] as const

  it.each(wrong)(
    'returns 400 and names the field: %s [sync-5]',
    async (_what, given, code, param) => {
      const fields = { prompt: 'x', ...given }
      for (const answer of [await call.generate(client, fields), await call.edit(client, fields)]) {
        expect(answer.status).toBe(400)
        expect(await errorOf(answer)).toEqual({
          message,
          type: 'invalid_request_error',
          param,
          code,
        })
      }
    },
  )

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

/** Not imported from the source: a value that the source loses must fail here. */
const allowed: Readonly<Record<string, readonly (readonly [model: string, value: unknown])[]>> = {
  size: [
    ...['1K', '2K', '4K'].map((size) => ['familya-3.1-flash-image', size] as const),
    ...['1024x1024', '2048x2048', '3840x2160'].map(
      (size) => ['familyb-image-2-web', size] as const,
    ),
  ],
  aspect_ratio: '1:1 1:4 1:8 2:3 3:2 3:4 4:1 4:3 4:5 5:4 8:1 9:16 16:9 21:9'
    .split(' ')
    .map((ratio) => ['familya-3.1-flash-image', ratio]),
  quality: ['low', 'medium', 'high', 'auto'].map((quality) => ['familyb-image-2-vip', quality]),
  n: [['familyb-image-2-vip', 1]],
}

describe('a valid submit', () => {
  it.each(Object.keys(allowed))(
    'accepts every value that the contract lists: %s [task-6, task-8, task-9]',
    async (field) => {
      for (const [model, value] of allowed[field] ?? []) {
        const answer = await client.submit(generateBody({ model, [field]: value }))
        expect([value, answer.status]).toEqual([value, 202])
      }
    },
  )

  it('accepts up to 16 PNG, JPEG and WebP images for an edit, with both families [task-4, image-2]', async () => {
    const image = sharp(redPixelPng)
    const three = [
      inputImage(redPixelPng, 'image/png'),
      inputImage(await image.clone().jpeg().toBuffer(), 'image/jpeg'),
      inputImage(await image.clone().webp().toBuffer(), 'image/webp'),
    ]
    const sixteen = Array.from({ length: 6 }, () => three)
      .flat()
      .slice(0, 16)
    for (const model of ['familya-2.5-flash-image', 'familyb-image-2-web']) {
      for (const input_images of [three, sixteen]) {
        const answer = await client.submit(editBody({ model, input_images }))
        expect(answer.status).toBe(202)
      }
    }
  })

  it('has no limit of requests per minute on family A [limit-2]', async () => {
    const body = generateBody({ model: 'familya-3-pro-image' })
    const answers = await Promise.all(Array.from({ length: 200 }, () => client.submit(body)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  })
})
