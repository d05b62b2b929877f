import { describe, expect, it } from 'vitest'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import { checkSupported } from '../../../src/domain/tasks/checkSupported.ts'

const caller = {}
const paramNames = {
  size: 'size',
  aspectRatio: 'ratio',
  thinkingConfig: 'config',
  thinkingLevel: 'level',
}

/** Returns the field that is not supported, or `undefined`. */
function refused(model: string, thinkingConfig: object): string | null | undefined {
  const content = { contents: [], generationConfig: { thinkingConfig: { ...thinkingConfig } } }
  const body = { kind: 'content', content } as const
  const route = 'v1beta.generateContent'
  const request = { route, model, action: 'generate', body, inputs: [] } as const
  const checked = checkSupported(createModelTable(), { caller, request, paramNames })
  return checked.ok || checked.failure.tag !== 'invalid_request' ? undefined : checked.failure.param
}

describe('thinking that the model does not know is refused before a task is made', () => {
  it.each([
    // Gemini 2.5 answers 400 to every kind of it.
    ['familya-2.5-flash-image', { thinkingLevel: 'LOW' }, 'config'],
    ['familya-2.5-flash-image', { includeThoughts: true }, 'config'],
    ['familya-2.5-flash-image', {}, undefined],
    ['familya-3.1-flash-image', { thinkingLevel: 'LOW' }, 'level'],
    ['familya-3.1-flash-image', { thinkingLevel: 'MINIMAL' }, undefined],
    ['familya-3.1-flash-image', { thinkingLevel: 'THINKING_LEVEL_UNSPECIFIED' }, undefined],
    ['familya-3.1-flash-image', { includeThoughts: true }, undefined],
    ['familya-3-pro-image', { thinkingLevel: 'LOW' }, undefined],
  ] as const)('%s %j: %s [content-3]', (model, thinkingConfig, param) => {
    expect(refused(model, thinkingConfig)).toBe(param)
  })
})

describe('a request for a model', () => {
  const body = { kind: 'prompt', prompt: 'A lighthouse' } as const
  const asked = { route: 'images.tasks', action: 'generate', body, inputs: [] } as const
  const check = (given: object) =>
    checkSupported(createModelTable(), {
      caller,
      request: { ...asked, model: 'familyb-image-2-vip', ...given },
    })

  it('is told which sizes the model takes [client-2]', () => {
    const message: unknown = expect.stringMatching(/1024x1024/)
    const failure = { code: 'invalid_value', param: 'size', message }
    expect(check({ size: '512x512' })).toMatchObject({ failure })
    expect(check({ route: 'images.edits', size: '512x512' })).toMatchObject({ failure })
  })

  it('of family A is the same with any quality, which has no effect [task-10]', () => {
    const plain = { model: 'familya-3-pro-image', size: '4K', aspectRatio: '21:9' }
    expect(check(plain)).toMatchObject({ ok: true })
    expect(check({ ...plain, quality: 'high' })).toEqual(check(plain))
    expect(check({ ...plain, quality: 'best' })).toMatchObject({ failure: { param: 'quality' } })
  })
})
