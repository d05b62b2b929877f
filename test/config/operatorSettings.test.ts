import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readOperatorSettings } from '../../src/config/operatorSettings.ts'
import { defined } from '../../src/domain/defined.ts'
import { familyARequest } from '../../src/upstream/familyA.ts'
import { tempFolder } from '../support/tempFolder.ts'

const channel = { name: 'b', family: 'B', baseUrl: 'http://127.0.0.1', apiKeyEnv: 'B_KEY' }

function withFile(file: object, credential = 'secret-b') {
  const path = join(tempFolder(), 'operator.json')
  writeFileSync(path, JSON.stringify({ channels: [channel], ...file }))
  return readOperatorSettings(path, { withKeys: true }, { B_KEY: credential })
}

function withCredential(credential: string) {
  return withFile({}, credential)
}

describe("a channel's credential", () => {
  it.each([
    ['empty', ''],
    ['two lines long', 'secret\nb'],
    ['not ASCII', 'sécret'],
  ])('is refused with the name of its variable when it is %s', (_what, credential) => {
    expect(() => withCredential(credential)).toThrow(/B_KEY/)
    expect(() => withCredential(credential)).not.toThrow(/cret/)
  })
})

describe("a channel's credential in a file", () => {
  const inFile = (content: string | undefined) => {
    const apiKeyFile = join(tempFolder(), 'token')
    if (content !== undefined) writeFileSync(apiKeyFile, content)
    const { apiKeyEnv: _env, ...others } = channel
    return () => withFile({ channels: [{ ...others, apiKeyFile }] }).channels[0]
  }

  it('is not kept, because it is read for each call', () => {
    expect(inFile('secret-b\n')()).toMatchObject({ apiKey: '', apiKeyFile: expect.any(String) })
  })

  it.each([
    ['missing', undefined],
    ['empty', '\n'],
    ['two lines long', 'secret\nb'],
  ])('is refused with its place in the file when it is %s', (_what, content) => {
    expect(inFile(content)).toThrow(/operator\.json: channels\[0\]\.apiKeyFile/)
    expect(inFile(content)).not.toThrow(/secret/)
  })
})

describe('an error of the file as a whole', () => {
  it('is reported without a path', () => {
    expect(() => withFile({ chanels: [] })).toThrow(/operator\.json: Unrecognized key: "chanels"/)
  })
})

describe("a channel's timeout", () => {
  it.each([
    [16.1, 16_100],
    [1.0004, 1000],
    [3599.9999, 3_600_000],
  ])('of %d s is a whole number of milliseconds, %d', (timeoutSeconds, timeoutMs) => {
    const channels = [{ ...channel, timeoutSeconds }]
    expect(withFile({ channels }).channels[0]?.timeoutMs).toBe(timeoutMs)
  })
})

describe("an operator's override of sizes", () => {
  const lite = 'familya-3.1-flash-lite-image'
  const pro = 'familya-3-pro-image'

  it.each([
    [lite, { sizes: ['1K', '2K'] }, true],
    [lite, { sizes: ['2K'] }, true],
    [lite, { sizes: ['1K'] }, false],
    [lite, { sizes: ['2K'], sizeIsSent: false }, false],
    [lite, { sizes: ['1K'], sizeIsSent: true }, true],
    [lite, { usualDurationMs: 1 }, false],
    [lite, undefined, false],
    [pro, { sizes: ['2K'] }, true],
    [pro, { sizes: ['1K'], sizeIsSent: false }, false],
    [pro, undefined, true],
  ] as const)('of %s with %j sends the size: %j', (model, override, sizeIsSent) => {
    const { models } = withFile({ capabilities: { [model]: override } })
    expect(models.get(model)?.sizeIsSent).toBe(sizeIsSent)
    const size = models.get(model)?.sizes[0]
    const body = { kind: 'prompt', prompt: 'A fox' } as const
    const request = { route: 'images.tasks', family: 'A', model, action: 'generate' } as const
    const asked = { ...request, body, inputs: [], ...defined({ size }) }
    const sent = JSON.stringify(familyARequest(asked, models))
    expect(sent.includes('imageSize')).toBe(sizeIsSent)
  })

  it.each([{ sizeIsSent: false }, { sizes: ['1K', '4K'], sizeIsSent: false }])(
    'refuses to offer sizes that are never sent: %j',
    (override) => {
      expect(() => withFile({ capabilities: { [pro]: override } })).toThrow(
        /operator\.json: capabilities\.familya-3-pro-image\.sizeIsSent/,
      )
    },
  )
})
