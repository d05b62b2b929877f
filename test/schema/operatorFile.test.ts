import { describe, expect, it } from 'vitest'
import { operatorFile } from '../../src/schema/operatorFile.ts'

function parse(baseUrl: string) {
  const channel = { name: 'b-main', family: 'B', apiKeyEnv: 'FAMILYB_API_KEY', baseUrl }
  return operatorFile.safeParse({ channels: [channel] })
}

describe('the base address of a channel', () => {
  it.each(['http://127.0.0.1:8090/v1', 'http://127.0.0.1:8090/v1//'])('is accepted: %s', (text) => {
    expect(parse(text).data?.channels[0]?.baseUrl).toBe('http://127.0.0.1:8090/v1')
  })

  it.each([
    ['no address', '/v1'],
    ['another protocol', 'ftp://host/v1'],
    ['a password alone', 'http://:password@host/v1'],
    ['a query', 'http://host/v1?version=2'],
    ['an empty query', 'http://host/?'],
    ['a fragment', 'http://host/v1#top'],
  ])('is refused with its place in the file: %s', (_what, text) => {
    expect(parse(text).error?.issues[0]?.path).toEqual(['channels', 0, 'baseUrl'])
  })
})

describe('a size or aspect ratio that the model does not support', () => {
  const channels = [
    { name: 'b', family: 'B', apiKeyEnv: 'B_KEY', baseUrl: 'http://127.0.0.1:8090/v1' },
  ]
  const [pro, vip] = ['familya-3-pro-image', 'familyb-image-2-vip']

  it.each([
    ['prices.0.size', { prices: [{ model: vip, size: '2K', credits: 1 }] }],
    ['prices.0.size', { prices: [{ model: pro, size: '1024x1024', credits: 1 }] }],
    [`capabilities.${pro}.sizes`, { capabilities: { [pro]: { sizes: ['1K', '1024x1024'] } } }],
    [`capabilities.${vip}.sizes`, { capabilities: { [vip]: { sizes: ['4K'] } } }],
    [`capabilities.${vip}.aspectRatios`, { capabilities: { [vip]: { aspectRatios: ['1:1'] } } }],
  ])('is refused at %s: %j', (path, file) => {
    const parsed = operatorFile.safeParse({ channels, ...file })
    expect(parsed.error?.issues.map((issue) => issue.path.join('.'))).toEqual([path])
  })
})

describe('a wrong model of the operator', () => {
  const channel = { name: 'b', family: 'B', apiKeyEnv: 'B_KEY', baseUrl: 'http://127.0.0.1' }
  const a = { name: 'house', like: 'familya-3-pro-image' }
  const b = { name: 'house', like: 'familyb-image-2-vip' }
  const priced = [{ model: 'house', credits: 1 }]
  const withModels = (...models: readonly object[]) => ({ models, prices: priced })

  it.each([
    ['models.0.name', withModels({ ...a, name: 'House' })],
    ['models.0.name', withModels({ ...a, name: 'x'.repeat(65) })],
    ['models.0.name', withModels({ ...a, name: 'familya-3-pro-image' })],
    ['models.1.name', withModels(a, b)],
    ['models.0.like', withModels({ ...a, like: 'house' })],
    ['models.0.sizes', withModels({ ...a, sizes: ['1K', '1536x1024'] })],
    ['models.0.sizes', withModels({ ...b, sizes: ['512'] })],
    ['models.0.sizes', withModels({ ...b, sizes: [] })],
    ['models.0.aspect_ratios.0', withModels({ ...a, aspect_ratios: ['9x21'] })],
    ['models.0.aspect_ratios', withModels({ ...b, aspect_ratios: ['9:21'] })],
    ['models.0.qualities', withModels({ ...a, qualities: ['max'] })],
    ['models.0.qualities.0', withModels({ ...b, qualities: ['best'] })],
    ['models.0.actions.0', withModels({ ...b, actions: ['vary'] })],
    ['models.0', { models: [a] }],
    ['models.0', { models: [a], prices: [{ model: 'house', size: '4K', credits: 1 }] }],
    ['models.0', { models: [b], prices: [{ model: 'house', action: 'edit', credits: 1 }] }],
    [
      'prices.0.size',
      { models: [b], prices: [{ model: 'house', size: '1K', credits: 1 }, ...priced] },
    ],
    ['channels.0.models.house', { channels: [{ ...channel, models: { house: 'x' } }] }],
    [
      'channels.0.models.house',
      { ...withModels(a), channels: [{ ...channel, models: { house: 'x' } }] },
    ],
    ['capabilities.house', { capabilities: { house: {} } }],
  ])('is refused at %s: %j [ownmodel-3]', (path, file) => {
    const parsed = operatorFile.safeParse({ channels: [channel], ...file })
    expect(parsed.error?.issues.map((issue) => issue.path.join('.'))).toEqual([path])
  })

  it('is none whose every request has a price, in any form of its family', () => {
    const ratios = ['1:1', '9:21']
    const models = [
      { ...a, sizes: ['512', '2K'], aspect_ratios: ratios, retired: true },
      {
        ...b,
        name: 'house.2',
        sizes: ['1536x1024'],
        qualities: ['xhigh', 'max'],
        actions: ['edit'],
      },
    ]
    const prices = [
      ...priced,
      { model: 'house.2', action: 'edit', credits: 0 },
      { model: 'x', credits: 1 },
    ]
    const capabilities = { house: { usualDurationMs: 5_000 } }
    const parsed = operatorFile.safeParse({ channels: [channel], models, prices, capabilities })
    expect(parsed.error).toBeUndefined()
  })
})

describe('a wrong field of a channel', () => {
  type Row = [string, Readonly<Record<string, unknown>>]
  const given = { name: 'one', family: 'B', baseUrl: 'http://127.0.0.1:8090/v1' }
  const both = { apiKeyEnv: 'KEY', apiKeyFile: '/run/key' }
  const familyA = { family: 'A', apiKeyEnv: 'KEY' }
  const manyNames = Array.from({ length: 21 }, (_, at) => [`x-${at}`, '1'])
  const refused = (header: string): Row => [
    `headers.${header}`,
    { apiKeyEnv: 'KEY', headers: { [header]: '1' } },
  ]

  it.each<Row>([
    ['apiKeyEnv', {}],
    ['apiKeyEnv', both],
    ['apiKeyFile', { apiKeyFile: 'run/key' }],
    ['apiKeyHeader', { apiKeyEnv: 'KEY', apiKeyHeader: 'api key' }],
    ['apiKeyHeader', { apiKeyEnv: 'KEY', apiKeyHeader: 'Idempotency-Key' }],
    ['apiKeyHeader', { apiKeyEnv: 'KEY', apiKeyHeader: 'content-length' }],
    ['apiKeyPrefix', { apiKeyEnv: 'KEY', apiKeyPrefix: 'Bearer\r\nX: ' }],
    ['weight', { apiKeyEnv: 'KEY', weight: 0 }],
    ['weight', { apiKeyEnv: 'KEY', weight: 1_001 }],
    ['query.a b', { apiKeyEnv: 'KEY', query: { 'a b': '1' } }],
    ['query.version', { apiKeyEnv: 'KEY', query: { version: '' } }],
    ...['Accept', 'user-agent', 'EXPECT', 'content-type', 'proxy-connection', 'a b'].map(refused),
    // A credential has fields of its own.
    ...['Authorization', 'x-goog-api-key', 'X-Auth', 'cookie', 'x-secret', 'my-token'].map(refused),
    ['headers.X-One', { apiKeyEnv: 'KEY', apiKeyHeader: 'x-one', headers: { 'X-One': '1' } }],
    ['headers.x-one', { apiKeyEnv: 'KEY', headers: { 'X-One': '1', 'x-one': '2' } }],
    ['headers.x-one', { apiKeyEnv: 'KEY', headers: { 'x-one': 'a\r\nb' } }],
    ['headers', { apiKeyEnv: 'KEY', headers: Object.fromEntries(manyNames) }],
    ...['model', 'prompt', 'n', 'size', 'Output_Format', 'image', 'safety_identifier'].map(
      (field): Row => [`extraFields.${field}`, { apiKeyEnv: 'KEY', extraFields: { [field]: 'x' } }],
    ),
    ...['contents', 'generationConfig', 'generation_config', 'tools', 'inlineData'].map(
      (field): Row => [`extraFields.${field}`, { ...familyA, extraFields: { [field]: 'x' } }],
    ),
    ['extraFields.a"b', { apiKeyEnv: 'KEY', extraFields: { 'a"b': 'x' } }],
    ['extraFields.style', { apiKeyEnv: 'KEY', extraFields: { style: { a: 1 } } }],
    ['extraFields', { apiKeyEnv: 'KEY', extraFields: Object.fromEntries(manyNames) }],
    ['safetyIdentifier', { ...familyA, safetyIdentifier: true }],
    ['models.familya-3-pro-image', { apiKeyEnv: 'KEY', models: { 'familya-3-pro-image': 'a' } }],
    ['paths', { apiKeyEnv: 'KEY', paths: { edits: '/edits' } }],
    ['paths.generate', { apiKeyEnv: 'KEY', paths: { generate: 'generate' } }],
    ['paths.generate', { apiKeyEnv: 'KEY', paths: { generate: '/a?b=1' } }],
    ['paths.generate', { apiKeyEnv: 'KEY', paths: { generate: '/a/../b' } }],
    ['paths.generate', { apiKeyEnv: 'KEY', paths: { generate: '/{deployment}/images' } }],
    ['paths.generate', { ...familyA, paths: { generate: '/models:generateContent' } }],
    ['paths.edit', { ...familyA, paths: { edit: '/models/{model}:edit' } }],
  ])('is refused at %s: %j', (place, fields) => {
    const parsed = operatorFile.safeParse({ channels: [{ ...given, ...fields }] })
    const issues = parsed.error?.issues ?? []
    expect(issues.map(({ path }) => path.slice(2).join('.'))).toEqual([place])
  })

  it('is its name when another channel has it', () => {
    const channel = { ...given, apiKeyEnv: 'KEY' }
    const parsed = operatorFile.safeParse({ channels: [channel, channel] })
    expect(parsed.error?.issues.map(({ path }) => path.join('.'))).toEqual(['channels.1.name'])
  })
})
