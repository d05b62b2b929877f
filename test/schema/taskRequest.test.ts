import { describe, expect, it } from 'vitest'
import { isTaskImagePath, parseTaskRequest } from '../../src/schema/taskRequest.ts'
import { receivedImage } from '../support/images.ts'

const generate = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'a lighthouse' }
const image = { mime_type: 'image/png', data: '' }
const edit = { ...generate, action: 'edit', input_images: [image] }
const received = [receivedImage(['input_images', 0, 'data'])]

function refusal(document: unknown, images = received) {
  const parsed = parseTaskRequest(document, images)
  if (parsed.ok || parsed.failure.tag !== 'invalid_request') throw new Error('not refused')
  return [parsed.failure.code, parsed.failure.param]
}

describe('a task request', () => {
  it('keeps the fields that its family supports', () => {
    const document = { ...generate, size: '2048x2048', quality: 'high', n: 1 }
    expect(parseTaskRequest(document, [])).toEqual({
      ok: true,
      value: {
        route: 'images.tasks',
        family: 'B',
        model: 'familyb-image-2-vip',
        action: 'generate',
        size: '2048x2048',
        quality: 'high',
        body: { kind: 'prompt', prompt: 'a lighthouse' },
        inputs: [],
      },
    })
  })

  it('ignores quality with family A [task-10]', () => {
    const plain = { ...generate, model: 'familya-3-pro-image', size: '4K', aspect_ratio: '21:9' }
    const parsed = parseTaskRequest({ ...plain, quality: 'high' }, [])
    expect(parsed).toEqual(parseTaskRequest(plain, []))
    expect(parsed).toMatchObject({ ok: true, value: { size: '4K', aspectRatio: '21:9' } })
  })

  it('accepts an edit, with its images by reference and typed by their bytes', () => {
    const parsed = parseTaskRequest(edit, received)
    expect(parsed).toMatchObject({
      ok: true,
      value: { action: 'edit', inputs: [{ blobKey: 'in1/0', mimeType: 'image/png' }] },
    })
  })

  it.each([
    ['no model', { ...generate, model: undefined }, 'missing_required_parameter', 'model'],
    ['null', { ...generate, model: null }, 'missing_required_parameter', 'model'],
    ['an unknown model', { ...generate, model: 'dall-e-3' }, 'model_not_found', 'model'],
    ['no prompt', { ...generate, prompt: undefined }, 'missing_required_parameter', 'prompt'],
    ['an empty prompt', { ...generate, prompt: '' }, 'invalid_value', 'prompt'],
    ['a prompt that is no text', { ...generate, prompt: ['x'] }, 'invalid_value', 'prompt'],
    ['no action', { ...generate, action: undefined }, 'missing_required_parameter', 'action'],
    ['an unknown action', { ...generate, action: 'vary' }, 'invalid_value', 'action'],
    ['two images at once', { ...generate, n: 2 }, 'invalid_value', 'n'],
    ['n as text', { ...generate, n: '1' }, 'invalid_value', 'n'],
    ['a size of the other family', { ...generate, size: '1K' }, 'invalid_value', 'size'],
    ['a size that no model has', { ...generate, size: '512x512' }, 'invalid_value', 'size'],
    [
      'a ratio with family B',
      { ...generate, aspect_ratio: '1:1' },
      'invalid_value',
      'aspect_ratio',
    ],
    [
      'pixels with family A',
      { ...generate, model: 'familya-3-pro-image', size: '1024x1024' },
      'invalid_value',
      'size',
    ],
    ['an unknown quality', { ...generate, quality: 'xhigh' }, 'invalid_value', 'quality'],
    ['an unknown field', { ...generate, user: 'me' }, 'unknown_parameter', 'user'],
    ['images to generate', { ...edit, action: 'generate' }, 'invalid_value', 'input_images'],
    [
      'no images to edit',
      { ...generate, action: 'edit' },
      'missing_required_parameter',
      'input_images',
    ],
    ['an empty list of images', { ...edit, input_images: [] }, 'invalid_value', 'input_images'],
    [
      'seventeen images',
      { ...edit, input_images: Array.from({ length: 17 }, () => image) },
      'invalid_value',
      'input_images',
    ],
    [
      'an image that is not an object',
      { ...edit, input_images: [7] },
      'invalid_value',
      'input_images[0]',
    ],
    [
      'an image without type',
      { ...edit, input_images: [{ data: '' }] },
      'missing_required_parameter',
      'input_images[0].mime_type',
    ],
    [
      'an unknown field of an image',
      { ...edit, input_images: [{ ...image, detail: 'low' }] },
      'unknown_parameter',
      'input_images[0].detail',
    ],
    [
      'a declared type that the bytes are not',
      { ...edit, input_images: [{ ...image, mime_type: 'image/webp' }] },
      'invalid_image',
      'input_images[0].data',
    ],
  ])('is refused with %s', (_what, document, code, param) => {
    expect(refusal(JSON.parse(JSON.stringify(document)))).toEqual([code, param])
  })

  it('is refused when it is not an object', () => {
    expect(refusal([])).toEqual(['invalid_json', null])
    expect(refusal('text')).toEqual(['invalid_json', null])
  })

  it('is refused with bytes that are not an image', () => {
    const { sniffedType: _none, ...unknown } = receivedImage(['input_images', 0, 'data'])
    expect(refusal(edit, [unknown])).toEqual(['invalid_image', 'input_images[0].data'])
  })

  it('cannot reach a prototype through its keys', () => {
    expect(refusal({ ...generate, constructor: 1 })).toEqual(['unknown_parameter', 'constructor'])
    const own: unknown = JSON.parse(
      `{"model":"familyb-image-2-vip","action":"generate","prompt":"x","__proto__":1}`,
    )
    expect(refusal(own)).toEqual(['unknown_parameter', '__proto__'])
  })

  it('shortens the name of an unknown field', () => {
    const [, param] = refusal({ ...generate, ['x'.repeat(10_000)]: 1 })
    expect(param).toHaveLength(201)
  })

  it('has its image data at these paths only', () => {
    expect(isTaskImagePath(['input_images', 3, 'data'])).toBe(true)
    expect(isTaskImagePath(['input_images', 3, 'data', 'data'])).toBe(false)
    expect(isTaskImagePath(['data'])).toBe(false)
    expect(isTaskImagePath(['images', 3, 'data'])).toBe(false)
  })
})
