import { describe, expect, it } from 'vitest'
import { errorResponse } from '../../support/clients/responses.ts'
import { familyANative } from '../../support/http/fakeTasks.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

const api = useTestApi()

const contentPath = '/v1beta/models/familya-3-pro-image:generateContent'
const content = { contents: [{ parts: [{ text: 'a lighthouse' }] }] }

describe('a generateContent call', () => {
  it('answers with the native response of family A', async () => {
    const [response] = await Promise.all([
      api.postJson(contentPath, content),
      api.tasks.nextId().then((taskId) => api.tasks.succeed(taskId, familyANative)),
    ])
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      candidates: [
        {
          content: {
            parts: [
              { inlineData: { mimeType: 'image/png', data: redPixelPng.toString('base64') } },
            ],
          },
        },
      ],
      modelVersion: 'familya-3-pro-image',
      responseId: 'r1',
    })
    expect(api.tasks.accepted.at(-1)?.request.route).toBe('v1beta.generateContent')
  })

  it('passes the refusal of the model on as the model wrote it', async () => {
    const rejected = { code: 'no_image_generated', cause: 'rejected', workPossible: false } as const
    api.tasks.rejection = {
      candidates: [{ finishReason: 'NO_IMAGE' }],
      modelVersion: 'familya-3-pro-image',
      responseId: 'r1',
    }
    const [response] = await Promise.all([
      api.postJson(contentPath, content),
      api.tasks.nextId().then((taskId) => api.tasks.fail(taskId, rejected)),
    ])
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual(api.tasks.rejection)
    api.tasks.rejection = undefined
  })

  it('answers at once with the task id when it is asynchronous [content-2]', async () => {
    const response = await api.postJson(
      contentPath.replace(':generate', ':asyncGenerate'),
      content,
      { 'Idempotency-Key': 'async' },
    )
    expect(response.status).toBe(202)
    expect(response.headers.get('idempotent-replayed')).toBe('false')
    expect(response.headers.has('x-task-id')).toBe(false)
    expect(api.tasks.accepted.at(-1)?.request.route).toBe('v1beta.asyncGenerateContent')
    expect(api.tasks.accepted.at(-1)?.paramNames).toEqual({
      size: 'generationConfig.imageConfig.imageSize',
      aspectRatio: 'generationConfig.imageConfig.aspectRatio',
    })
  })

  it('accepts inline images in snake_case, and a percent-encoded colon in the path', async () => {
    const data = redPixelPng.toString('base64')
    const edit = {
      contents: [{ parts: [{ text: 'x' }, { inline_data: { mime_type: 'image/png', data } }] }],
    }
    const encoded = '/v1beta/models/familya-3-pro-image%3AasyncGenerateContent'
    const response = await api.postJson(encoded, edit)
    expect(response.status).toBe(202)
    expect(api.tasks.accepted.at(-1)?.request).toMatchObject({
      action: 'edit',
      inputs: [{ bytes: redPixelPng.length }],
    })
  })

  it.each([
    ['an unknown model', '/v1beta/models/gemini:generateContent', 400, 'model_not_found'],
    ['family B', '/v1beta/models/familyb-image-2-vip:generateContent', 400, 'model_not_found'],
    [
      'a streaming method',
      '/v1beta/models/familya-3-pro-image:streamGenerateContent',
      404,
      'not_found',
    ],
    ['no method', '/v1beta/models/familya-3-pro-image', 404, 'not_found'],
  ])('is refused for %s', async (_what, path, status, code) => {
    const response = await api.postJson(path, content)
    expect(response.status).toBe(status)
    expect(errorResponse.parse(await response.json()).error.code).toBe(code)
  })
})
