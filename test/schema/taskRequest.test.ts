import { describe, expect, it } from 'vitest'
import { isTaskImagePath, parseTaskRequest } from '../../src/schema/taskRequest.ts'
import { receivedImage, redPixelPng } from '../support/images.ts'

const generate = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'a lighthouse' }
const image = { mime_type: 'image/png', data: '' }
const edit = { ...generate, action: 'edit', input_images: [image] }
const received = [receivedImage(['input_images', 0, 'data'])]
const pro = 'familya-3-pro-image'

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

  it('has its image data at these paths only', () => {
    expect(isTaskImagePath(['input_images', 3, 'data'])).toBe(true)
    const others = [['input_images', 3, 'data', 'data'], ['data'], ['images', 3, 'data']]
    expect(others.filter(isTaskImagePath)).toEqual([])
  })
})
