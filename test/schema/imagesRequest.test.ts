import { describe, expect, it } from 'vitest'
import { parseEditsRequest, parseGenerationsRequest } from '../../src/schema/imagesRequest.ts'
import { receivedImage } from '../support/images.ts'

const fields = { model: 'familyb-image-2-web', prompt: 'a lighthouse' }

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
  it('takes its type from the bytes of the image', () => {
    const parsed = parseEditsRequest({ ...fields, n: '1' }, receivedImage(['image']))
    expect(parsed).toMatchObject({
      ok: true,
      value: { route: 'images.edits', action: 'edit', inputs: [{ mimeType: 'image/png' }] },
    })
  })

  it('is refused without an image, or with bytes that are not an image', () => {
    expect(parseEditsRequest(fields, undefined)).toMatchObject({
      failure: { code: 'missing_required_parameter', param: 'image' },
    })
    const { sniffedType: _none, ...unknown } = receivedImage(['image'])
    expect(parseEditsRequest(fields, unknown)).toMatchObject({
      failure: { code: 'invalid_image', param: 'image' },
    })
  })

  it('is refused with an unknown field, by name', () => {
    const parsed = parseEditsRequest({ ...fields, mask: 'x' }, receivedImage(['image']))
    expect(parsed).toMatchObject({ failure: { code: 'unknown_parameter', param: 'mask' } })
  })
})
