import { brotliCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requestTextBytesMax } from '../../../src/domain/limits.ts'
import { formBody, formType } from '../../support/clients/requestBodies.ts'
import type { TestApi } from '../../support/http/testApi.ts'
import { startTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi({ ingressLimitBytes: 128 * 1024 * 1024 })
})
afterAll(() => api.close())

/** Sends the body compressed, and returns the status and the code of the answer. */
async function postCompressed(
  path: string,
  body: string | Uint8Array,
  contentType = 'application/json',
): Promise<{ status: number; sentBytes: number; code: unknown }> {
  const sent = new Uint8Array(brotliCompressSync(body))
  const response = await api.send(path, {
    method: 'POST',
    body: sent,
    headers: { 'Content-Type': contentType, 'Content-Encoding': 'br' },
  })
  const answer: unknown = await response.json()
  const code: unknown = Reflect.get(Object(Reflect.get(Object(answer), 'error')), 'code')
  return { status: response.status, sentBytes: sent.length, code }
}

describe('a text that JSON must escape', () => {
  /** JSON writes U+0001 in six bytes. */
  const fittingCharacters = Math.floor((requestTextBytesMax - 1000) / 6)
  const tooManyCharacters = Math.floor(requestTextBytesMax / 6) + 1

  const task = (text: string) =>
    `{"model":"familyb-image-2-vip","action":"generate","prompt":"${text}"}`
  const content = (text: string) => `{"contents":[{"parts":[{"text":"${text}"}]}]}`
  const contentPath = '/v1beta/models/familya-3-pro-image:asyncGenerateContent'

  it.each([
    ['a task', '/v1/images/tasks', task],
    ['a v1beta document', contentPath, content],
  ])('counts with its escapes in %s', async (_what, path, bodyOf) => {
    const fitting = await postCompressed(path, bodyOf('\\u0001'.repeat(fittingCharacters)))
    expect(fitting.status).toBe(202)
    const tooLarge = await postCompressed(path, bodyOf('\\u0001'.repeat(tooManyCharacters)))
    expect(tooLarge).toMatchObject({ status: 413, code: 'read_request_body_failed' })
    expect(tooLarge.sentBytes).toBeLessThan(1000)
  })

  it('counts with its escapes in a form', async () => {
    const prompt = { name: 'prompt', value: '\u0001'.repeat(tooManyCharacters) }
    const image = { name: 'image', filename: 'a.png', value: redPixelPng }
    const form = formBody([{ name: 'model', value: 'familyb-image-2-web' }, prompt, image])
    const tooLarge = await postCompressed('/v1/images/edits', form, formType)
    expect(tooLarge).toMatchObject({ status: 413, code: 'read_request_body_failed' })
  })
})

describe('the texts of a form', () => {
  it('count together', async () => {
    const half = 'x'.repeat(requestTextBytesMax / 2)
    const form = formBody([
      { name: 'size', value: half },
      { name: 'prompt', value: `${half}x` },
    ])
    const tooLarge = await postCompressed('/v1/images/edits', form, formType)
    expect(tooLarge).toMatchObject({ status: 413, code: 'read_request_body_failed' })
  })
})
