import { describe, expect, it } from 'vitest'
import { modelsOf } from '../../src/domain/models/models.ts'
import { createClient } from '../support/clients/client.ts'
import { paddedPng, redPixelPng } from '../support/images.ts'
import { calmService } from '../support/service/calmService.ts'

const [, model] = modelsOf.B
const familyA = 'familya-3-pro-image'
const service = await calmService()
const account = await service.account()

async function post(path: string, body: object | FormData, key?: string) {
  const isForm = body instanceof FormData
  const answer = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${account.secret}`,
      ...(!isForm && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    body: isForm ? body : JSON.stringify(body),
  })
  return { status: answer.status, headers: answer.headers, body: Object(await answer.json()) }
}

/** Returns the native answer of an asynchronous task, once it has ended. */
async function resultOf(taskId: string) {
  await createClient(service.url, account.secret).ended(taskId)
  const headers = { authorization: `Bearer ${account.secret}` }
  const answer = await fetch(`${service.url}/v1/tasks/${taskId}/result`, { headers })
  return Object(await answer.json())
}

/** Returns what each part of a turn is, with its signature. */
function signaturesOf({ parts }: { readonly parts: readonly object[] }) {
  return parts.map((part) => {
    const kind = 'inlineData' in part ? 'inlineData' : 'text'
    return `${kind} ${Object(part).thoughtSignature}`
  })
}

/** An edit of one image, as google-genai sends it: one part, keys of both casings. */
function contentEdit(prompt: string, data: string) {
  const inlineData = { mime_type: 'image/png', data }
  return { contents: [{ role: 'user', parts: [{ text: prompt }, { inlineData }] }], tools: [] }
}

/** Fields that OpenAI's libraries and those made for it send beside the ones with a meaning. */
const constant = {
  response_format: 'b64_json',
  output_format: 'png',
  background: 'auto',
  moderation: 'auto',
  size: 'auto',
  user: 'somebody',
}

describe('a generation of a client made for OpenAI', () => {
  it('succeeds with the fields that such clients always send, and joins the same call without them [client-1]', async () => {
    const body = { model, prompt: 'realClients, a lighthouse' }
    const first = await post(
      '/v1/images/generations',
      { ...body, ...constant, stream: false, partial_images: 0, quality: null },
      'real-1',
    )
    expect(first.status).toBe(200)
    const second = await post('/v1/images/generations', body, 'real-1')
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    const calls = await service.simulator.calls({ prompt: body.prompt })
    expect(calls).toHaveLength(1)
    expect(JSON.stringify(calls[0]?.body)).not.toMatch(/somebody|moderation|auto/)
  })
})

describe('an edit of a client made for OpenAI', () => {
  it.each(['image', 'image[]'])(
    'takes one file as %s, with the same constant fields [client-5]',
    async (name) => {
      const form = new FormData()
      const fields = {
        model: model ?? '',
        prompt: `realClients, edit ${name}`,
        ...constant,
        stream: 'false',
        partial_images: '0',
      }
      for (const [field, value] of Object.entries(fields)) form.set(field, value)
      form.set(name, new Blob([redPixelPng], { type: 'image/png' }), 'a.png')
      expect((await post('/v1/images/edits', form)).status).toBe(200)
    },
  )
})

describe("a call of Google's clients", () => {
  // In this image the text has both letters that differ between the two alphabets.
  const standard = paddedPng(6_000, 12).toString('base64')
  const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_')

  it('is the same request with either prefix and either alphabet of base64, tools being empty [client-6]', async () => {
    const prompt = 'realClients, either alphabet'
    const path = (version: string, colon = ':') =>
      `/${version}/models/${familyA}${colon}asyncGenerateContent`
    const first = await post(path('v1'), contentEdit(prompt, urlSafe), 'real-3')
    const second = await post(path('v1beta'), contentEdit(prompt, standard), 'real-3')
    const third = await post(path('v1', '%3A'), contentEdit(prompt, standard), 'real-3')
    expect(standard).toMatch(/\+.*\/|\/.*\+/)
    expect([first.status, second.status, third.status]).toEqual([202, 202, 202])
    expect([second.body.task_id, third.body.task_id]).toEqual([
      first.body.task_id,
      first.body.task_id,
    ])
    const mixed = standard.replace('+', '-')
    const refused = await post(path('v1'), contentEdit(prompt, mixed))
    expect(refused.body.error).toMatchObject({
      code: 'invalid_image',
      param: 'contents[0].parts[1].inlineData.data',
    })
  })

  it.each(['generateContent', 'asyncGenerateContent'])(
    'may send the whole answer of %s back as a turn of the chat, which keeps its signatures byte for byte (bifrost#7357, dify-plugins#2817)',
    async (method) => {
      const question = { role: 'user', parts: [{ text: `realClients, a chat by ${method}` }] }
      const path = `/v1/models/${familyA}:`
      const { body } = await post(path + method, { contents: [question] })
      const first = method === 'generateContent' ? body : await resultOf(body.task_id)
      const { content } = first.candidates[0]
      expect(content).toMatchObject({ role: 'model' })
      expect(signaturesOf(content)).toEqual([
        expect.stringMatching(/^text [\w+/=]{88}$/),
        expect.stringMatching(/^inlineData [\w+/=]{88}$/),
      ])
      const prompt = `realClients, make it blue after ${method}`
      const change = { role: 'user', parts: [{ text: prompt }] }
      const contents = [question, content, change]
      const { status } = await post(`${path}generateContent`, { contents })
      expect(status).toBe(200)
      const [call] = await service.simulator.calls({ model: familyA, prompt })
      expect(signaturesOf(Object(call?.body).contents[1])).toEqual(signaturesOf(content))
      expect(call?.images).toHaveLength(1)
    },
  )
})
