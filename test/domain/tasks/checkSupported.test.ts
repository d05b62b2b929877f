import { describe, expect, it } from 'vitest'
import { builtInCapabilities } from '../../../src/domain/models/capabilities.ts'
import type { ModelOf } from '../../../src/domain/models/models.ts'
import { checkSupported } from '../../../src/domain/tasks/checkSupported.ts'

const caller = { accountId: 'acct_1', keyId: 'key_1' }
const paramNames = {
  size: 'size',
  aspectRatio: 'ratio',
  thinkingConfig: 'config',
  thinkingLevel: 'level',
}

/** Returns the field that is not supported, or `undefined`. */
function refused(model: ModelOf<'A'>, thinkingConfig: object): string | null | undefined {
  const content = { contents: [], generationConfig: { thinkingConfig: { ...thinkingConfig } } }
  const request = { model, body: { kind: 'content', content } } as const
  const failure = checkSupported(builtInCapabilities, { caller, request, paramNames })
  return failure?.tag === 'invalid_request' ? failure.param : undefined
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
