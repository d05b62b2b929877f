import { describe, expect, it } from 'vitest'
import { isTaskImagePath, parseTaskRequest } from '../../src/schema/taskRequest.ts'
import { receivedImage, redPixelPng } from '../support/images.ts'

const generate = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'a lighthouse' }
const image = { mime_type: 'image/png', data: '' }
const edit = { ...generate, action: 'edit', input_images: [image] }
const received = [receivedImage(['input_images', 0, 'data'])]
const pro = 'familya-3-pro-image'

/** Returns code and field of the refusal. */
function refusal(document: unknown, images = received): string {
  const parsed = parseTaskRequest(document, images)
  if (parsed.ok || parsed.failure.tag !== 'invalid_request') throw new Error('not refused')
  return `${parsed.failure.code} ${parsed.failure.param}`
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
    const plain = { ...generate, model: pro, size: '4K', aspect_ratio: '21:9' }
    const parsed = parseTaskRequest({ ...plain, quality: 'high' }, [])
    expect(parsed).toEqual(parseTaskRequest(plain, []))
    expect(parsed).toMatchObject({ ok: true, value: { size: '4K', aspectRatio: '21:9' } })
  })

  it('accepts an edit, with its images typed by their bytes', () => {
    expect(parseTaskRequest(edit, received)).toMatchObject({
      ok: true,
      value: { action: 'edit', inputs: [{ content: redPixelPng, mimeType: 'image/png' }] },
    })
  })

  const images = (...input_images: readonly unknown[]) => ({ ...edit, input_images })
  it.each([
    ['no model', { model: undefined }, 'missing_required_parameter model'],
    ['null', { model: null }, 'missing_required_parameter model'],
    ['an unknown model', { model: 'dall-e-3' }, 'model_not_found model'],
    ['no prompt', { prompt: undefined }, 'missing_required_parameter prompt'],
    ['an empty prompt', { prompt: '' }, 'invalid_value prompt'],
    ['a prompt that is no text', { prompt: ['x'] }, 'invalid_value prompt'],
    ['no action', { action: undefined }, 'missing_required_parameter action'],
    ['an unknown action', { action: 'vary' }, 'invalid_value action'],
    ['two images at once', { n: 2 }, 'invalid_value n'],
    ['n as text', { n: '1' }, 'invalid_value n'],
    ['a size of the other family', { size: '1K' }, 'invalid_value size'],
    ['a size that no model has', { size: '512x512' }, 'invalid_value size'],
    ['pixels with family A', { model: pro, size: '1024x1024' }, 'invalid_value size'],
    ['a ratio with family B', { aspect_ratio: '1:1' }, 'invalid_value aspect_ratio'],
    ['an unknown ratio', { model: pro, aspect_ratio: '7:3' }, 'invalid_value aspect_ratio'],
    ['an unknown quality', { quality: 'xhigh' }, 'invalid_value quality'],
    ['an unknown field', { user: 'me' }, 'unknown_parameter user'],
    ['images to generate', { input_images: [image] }, 'invalid_value input_images'],
    ['no images to edit', { action: 'edit' }, 'missing_required_parameter input_images'],
    ['an empty list of images', images(), 'invalid_value input_images'],
    [
      'seventeen images',
      images(...Array.from({ length: 17 }, () => image)),
      'invalid_value input_images',
    ],
    ['an image that is not an object', images(7), 'invalid_value input_images[0]'],
    [
      'an image without type',
      images({ data: '' }),
      'missing_required_parameter input_images[0].mime_type',
    ],
    [
      'an image without data',
      images({ mime_type: 'image/png' }),
      'missing_required_parameter input_images[0].data',
    ],
    [
      'an unknown type',
      images({ ...image, mime_type: 'image/gif' }),
      'invalid_value input_images[0].mime_type',
    ],
    [
      'an unknown field of an image',
      images({ ...image, detail: 'low' }),
      'unknown_parameter input_images[0].detail',
    ],
    [
      'a declared type that the bytes are not',
      images({ ...image, mime_type: 'image/webp' }),
      'invalid_image input_images[0].data',
    ],
    ['a key of every object', { constructor: 1 }, 'unknown_parameter constructor'],
  ])('is refused with %s', (_what, given, expected) => {
    expect(refusal(JSON.parse(JSON.stringify({ ...generate, ...given })))).toBe(expected)
  })

  it('is refused when it is not an object', () => {
    expect([[], 'text'].map((document) => refusal(document))).toEqual(
      Array(2).fill('invalid_json null'),
    )
  })

  it('is refused with bytes that are not an image', () => {
    const { sniffedType: _none, ...unknown } = receivedImage(['input_images', 0, 'data'])
    expect(refusal(edit, [unknown])).toBe('invalid_image input_images[0].data')
  })

  it('cannot reach a prototype through its keys', () => {
    const own = JSON.stringify(generate).replace('{', '{"__proto__":1,')
    expect(refusal(JSON.parse(own))).toBe('unknown_parameter __proto__')
  })

  it('shortens the name of an unknown field', () => {
    const param = refusal({ ...generate, ['x'.repeat(10_000)]: 1 }).split(' ')[1]
    expect(param).toHaveLength(201)
  })

  it('has its image data at these paths only', () => {
    expect(isTaskImagePath(['input_images', 3, 'data'])).toBe(true)
    const others = [['input_images', 3, 'data', 'data'], ['data'], ['images', 3, 'data']]
    expect(others.filter(isTaskImagePath)).toEqual([])
  })
})
