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
})

describe('an edits request', () => {
  it('takes its type from the bytes of the image, and n as text', () => {
    expect(parseEditsRequest({ ...fields, n: '1' }, image)).toMatchObject({
      ok: true,
      value: { route: 'images.edits', action: 'edit', inputs: [{ mimeType: 'image/png' }] },
    })
  })
})
