import { expect, it } from 'vitest'
import { errorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

const api = useTestApi()

const model = '/v1beta/models/familya-3-pro-image'
const content = { contents: [{ parts: [{ text: 'a lighthouse' }] }] }

it('an asynchronous content request answers at once, and its parameters have its names', async () => {
  const key = { 'Idempotency-Key': 'async' }
  const response = await api.postJson(`${model}:asyncGenerateContent`, content, key)
  expect(response.status).toBe(202)
  expect(response.headers.get('idempotent-replayed')).toBe('false')
  expect(response.headers.has('x-task-id')).toBe(false)
  expect(api.tasks.accepted.at(-1)).toMatchObject({
    request: { route: 'v1beta.asyncGenerateContent' },
    paramNames: {
      size: 'generationConfig.imageConfig.imageSize',
      aspectRatio: 'generationConfig.imageConfig.aspectRatio',
    },
  })
})

it('a content request takes images in snake_case, and a percent-encoded colon in its path', async () => {
  const data = redPixelPng.toString('base64')
  const parts = [{ text: 'x' }, { inline_data: { mime_type: 'image/png', data } }]
  const encoded = `${model}%3AasyncGenerateContent`
  const response = await api.postJson(encoded, { contents: [{ parts }] })
  expect(response.status).toBe(202)
  expect(api.tasks.accepted.at(-1)?.request).toMatchObject({
    action: 'edit',
    inputs: [{ bytes: redPixelPng.length }],
  })
})

it.each([
  ['an unknown model', '/v1beta/models/gemini:generateContent', 400, 'model_not_found'],
  ['family B', '/v1beta/models/familyb-image-2-vip:generateContent', 400, 'model_not_found'],
  ['a streaming method', `${model}:streamGenerateContent`, 404, 'not_found'],
  ['no method', model, 404, 'not_found'],
])('a content request is refused for %s', async (_what, path, status, code) => {
  const response = await api.postJson(path, content)
  expect(response.status).toBe(status)
  expect(errorResponse.parse(await response.json()).error.code).toBe(code)
})
