import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import * as call from '../support/clients/syncCalls.ts'
import { moneyOf } from '../support/database/money.ts'
import { redPixelPng } from '../support/images.ts'
import { calmService } from '../support/service/calmService.ts'

const service = await calmService()
const client = createClient(service.url, (await service.account()).secret)

const data = redPixelPng.toString('base64')
const size = '2048x2048'
const quality = 'low'

/** A content request. Its text identifies its upstream calls. */
const contents = (text: string, image = false) => ({
  contents: [
    { parts: [{ text }, ...(image ? [{ inlineData: { mimeType: 'image/png', data } }] : [])] },
  ],
  generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { imageSize: '2K' } },
})

/** The image has the size that is asked for. */
const whole = '[sim:pixels width=2048 height=2048]'

const cases = [
  {
    what: 'generations and tasks',
    sync: () => call.generate(client, { prompt: `contents one ${whole}`, size, quality }),
    async: () => client.submit(generateBody({ prompt: `contents one ${whole}`, size, quality })),
    differing: /^\{"created":\d+,/,
  },
  {
    what: 'generateContent and asyncGenerateContent',
    sync: () => call.content(client, 'generateContent', contents('contents four', true)),
    async: () => call.content(client, 'asyncGenerateContent', contents('contents four', true)),
    differing: /"responseId":"[^"]+"/,
  },
] as const

describe.each(cases)(
  'the same request on $what [content-1, content-2]',
  ({ sync, async, differing }) => {
    it('returns the same native response byte for byte and is charged once each time [submit-4, sync-3]', async () => {
      const [answer, accepted] = await Promise.all([sync(), async()])
      const text = await call.textOf200(answer)
      const syncTask = call.taskIdOf(answer)
      expect(accepted.status).toBe(202)
      const asyncTask: string = Object(await accepted.json()).task_id
      await client.ended(asyncTask)
      expect(await call.resultText(client, syncTask)).toBe(text)
      const other = await call.resultText(client, asyncTask)
      expect(text).toMatch(differing)
      expect(other.replace(differing, '')).toBe(text.replace(differing, ''))
      for (const taskId of [syncTask, asyncTask]) {
        expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
      }
    })
  },
)

describe('a synchronous image response', () => {
  it.each([
    [
      'an edit',
      () => call.edit(client, { prompt: 'contents six', size, model: 'familyb-image-2-web' }),
    ],
    [
      'an upstream that sends WebP [sync-1]',
      () => call.generate(client, { prompt: '[sim:wrong-mime as=webp]' }),
    ],
  ])(
    'contains one PNG and exactly the fields of the contract: %s [sync-1]',
    async (_what, send) => {
      const answer = await send()
      const body: Record<string, unknown> = JSON.parse(await call.textOf200(answer))
      const tokens = expect.any(Number)
      const details = { text_tokens: tokens, image_tokens: tokens }
      expect(body).toEqual({
        created: tokens,
        data: [{ b64_json: expect.any(String) }],
        size: expect.stringMatching(/^\d+x\d+$/),
        quality: expect.any(String),
        usage: {
          input_tokens: tokens,
          output_tokens: tokens,
          total_tokens: tokens,
          input_tokens_details: details,
          output_tokens_details: details,
        },
      })
      const image = Buffer.from(Object(body['data'])[0].b64_json, 'base64')
      expect((await sharp(image).metadata()).format).toBe('png')
    },
  )
})

describe('a content request', () => {
  it('reaches the upstream as the same bytes in camelCase and in snake_case [content-4]', async () => {
    const camel = {
      contents: [
        {
          role: 'user',
          parts: [{ text: 'casing' }, { inlineData: { mimeType: 'image/png', data } }],
        },
        { role: 'model', parts: [{ text: 'Well.', thoughtSignature: 'c2ln' }] },
        { role: 'user', parts: [{ text: 'contents: bluer' }] },
      ],
      systemInstruction: { parts: [{ text: 'Paint.' }] },
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      generationConfig: {
        responseModalities: ['IMAGE'],
        imageConfig: { aspectRatio: '16:9', imageSize: '4K' },
        candidateCount: 1,
        topP: 0.5,
        topK: 3,
        maxOutputTokens: 9000,
        thinkingConfig: { includeThoughts: true },
      },
    }
    const snake = JSON.parse(
      JSON.stringify(camel).replaceAll(/"([a-z]+[A-Z][A-Za-z]*)":/g, (_, name: string) => {
        return `"${name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)}":`
      }),
    )
    expect(Object.keys(snake)).toContain('generation_config')
    const model = 'familya-3.1-flash-image'
    const answers = await Promise.all(
      [camel, snake].map((body) => call.content(client, 'generateContent', body, model)),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const calls = await service.simulator.calls({ prompt: 'contents: bluer' })
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(calls).toMatchObject([{ bodySha256: sha256 }, { bodySha256: calls[0]?.bodySha256 }])
  })

  it.each([
    ['[sim:finish reason=IMAGE_SAFETY]', 'content_policy_violation', 'candidates'],
    ['[sim:block reason=PROHIBITED_CONTENT]', 'content_policy_violation', 'promptFeedback'],
    ['[sim:no-image]', 'no_image_generated', 'candidates'],
  ])(
    'returns the native 200 when the model refuses (%s); the task fails and costs nothing [content-5]',
    async (fault, code, member) => {
      const answer = await call.content(client, 'generateContent', contents(`x ${fault}`))
      const body: Record<string, unknown> = JSON.parse(await call.textOf200(answer))
      expect(body).toHaveProperty(member)
      expect(JSON.stringify(body)).not.toContain('inlineData')
      const record = await client.ended(call.taskIdOf(answer))
      expect([record.status, record.error?.code]).toEqual(['failed', code])
      expect(await moneyOf(service.pool, record.task_id)).toEqual(['hold', 'release'])
    },
  )
})
