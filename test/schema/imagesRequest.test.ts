import { describe, expect, it } from 'vitest'
import { parseEditsRequest, parseGenerationsRequest } from '../../src/schema/imagesRequest.ts'
import { receivedImage } from '../support/images.ts'

const fields = { model: 'familyb-image-2-web', prompt: 'a lighthouse' }
const image = receivedImage(['image'])

describe('a generations request', () => {
  it('is a task of family B', () => {
    const parsed = parseGenerationsRequest({ ...fields, size: '1024x1024', quality: 'auto', n: 1 })
    expect(parsed).toEqual({
      ok: true,
      value: {
        route: 'images.generations',
        family: 'B',
        model: 'familyb-image-2-web',
        action: 'generate',
        size: '1024x1024',
        quality: 'auto',
        body: { kind: 'prompt', prompt: 'a lighthouse' },
        inputs: [],
      },
    })
  })

  it.each([
    ['a model of family A', { model: 'familya-3-pro-image' }, 'model_not_found', 'model'],
    ['a K tier', { size: '1K' }, 'invalid_value', 'size'],
    ['response_format', { response_format: 'url' }, 'invalid_value', 'response_format'],
    ['stream', { stream: true }, 'invalid_value', 'stream'],
    ['n as text', { n: '1' }, 'invalid_value', 'n'],
  ])('is refused with %s', (_what, changed, code, param) => {
    const parsed = parseGenerationsRequest({ ...fields, ...changed })
    expect(parsed).toMatchObject({ ok: false, failure: { code, param } })
  })
})

describe('an edits request', () => {
  it('takes its type from the bytes of the image, and n as text', () => {
    expect(parseEditsRequest({ ...fields, n: '1' }, image)).toMatchObject({
      ok: true,
      value: { route: 'images.edits', action: 'edit', inputs: [{ mimeType: 'image/png' }] },
    })
  })

  const { sniffedType: _none, ...unknown } = image
  it.each([
    ['without an image', {}, undefined, 'missing_required_parameter', 'image'],
    ['with bytes that are not an image', {}, unknown, 'invalid_image', 'image'],
    ['with an unknown field', { mask: 'x' }, image, 'unknown_parameter', 'mask'],
    [
      'with a model of family A',
      { model: 'familya-3-pro-image' },
      image,
      'model_not_found',
      'model',
    ],
    ['with n of 2', { n: '2' }, image, 'invalid_value', 'n'],
  ])('is refused %s', (_what, changed, received, code, param) => {
    const parsed = parseEditsRequest({ ...fields, ...changed }, received)
    expect(parsed).toMatchObject({ ok: false, failure: { code, param } })
  })
})
