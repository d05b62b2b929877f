import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/environment.ts'
import { ConfigError } from '../../src/config/configError.ts'

const mebibyte = 1024 * 1024

describe('the default configuration', () => {
  it('keeps results for 24 hours and the record of each task for another seven days [life-1]', () => {
    const { retentionSeconds, tombstoneSeconds } = readConfig({})
    expect([retentionSeconds, tombstoneSeconds]).toEqual([24 * 3600, 7 * 24 * 3600])
  })

  it('keeps the inputs of failed tasks for 24 hours', () => {
    expect(readConfig({}).inputRetentionSeconds).toBe(24 * 3600)
  })

  it('keeps webhooks away from private addresses', () => {
    expect(readConfig({}).webhookPrivate).toBe('refuse')
  })

  it('leaves room for the largest legal body', () => {
    // All images together in Base64, and a long prompt.
    const largest = (64 * mebibyte * 4) / 3 + 16 * mebibyte
    expect(readConfig({ INGRESS_LIMIT_BYTES: '' }).ingressLimitBytes).toBeGreaterThan(largest)
  })
})

it.each(['blobs', '/var/blobs', 'http://bucket/prefix', 's3:///prefix', 'file://blobs/x'])(
  'BLOB_STORE is refused with the forms that it has: %j',
  (BLOB_STORE) => {
    expect(() => readConfig({ BLOB_STORE })).toThrow(
      /BLOB_STORE: must be file:\/\/\/absolute\/directory/,
    )
  },
)

describe('ASSET_REDIRECT=on', () => {
  it('needs a bucket, because files have no addresses', () => {
    expect(readConfig({}).assetRedirect).toBe(false)
    for (const BLOB_STORE of ['', 'file:///srv/blobs']) {
      expect(() => readConfig({ ASSET_REDIRECT: 'on', BLOB_STORE })).toThrow(
        new ConfigError(
          'ASSET_REDIRECT=on needs an S3 bucket in BLOB_STORE: files have no addresses',
        ),
      )
    }
    const given = { ASSET_REDIRECT: 'on', BLOB_STORE: 's3://bucket' }
    expect(readConfig(given).assetRedirect).toBe(true)
  })
})

describe('ADMIN_KEYS', () => {
  const secret = 'correct-horse-battery'

  it('names operators and viewers', () => {
    const keys = readConfig({ ADMIN_KEYS: `a:${secret}, b:${secret}2:viewer` }).adminKeys
    expect(keys).toEqual([
      { id: 'a', secret, role: 'operator' },
      { id: 'b', secret: `${secret}2`, role: 'viewer' },
    ])
  })

  it.each([
    [secret, 'a key is written id:secret or id:secret:viewer'],
    [`a:${secret}:viewer:x`, 'a key is written id:secret or id:secret:viewer'],
    [`a:${secret}:admin`, 'a role is viewer or operator'],
    ['a:fifteen-letters', 'each secret needs 16 characters or more'],
    [`a:${secret} horse`, 'it goes in a header'],
    [`a:${secret},b:${secret}`, 'two keys have the same secret'],
    [`a:${secret},a:${secret}2`, 'two secrets have the same id'],
    [`a b:${secret}`, 'an id is 1 to 16 letters or digits'],
  ])('is refused without printing a secret: %s', (ADMIN_KEYS, message) => {
    const read = () => readConfig({ ADMIN_KEYS })
    expect(read).toThrow(ConfigError)
    expect(read).toThrow(message)
    expect(read).not.toThrow(/correct|fifteen-l/)
  })

  it('comes with names of hosts that have no port', () => {
    const hosts = (ADMIN_ALLOWED_HOSTS: string) =>
      readConfig({ ADMIN_ALLOWED_HOSTS }).adminAllowedHosts
    expect(hosts('Admin.Example, 10.0.0.7')).toEqual(['admin.example', '10.0.0.7'])
    for (const wrong of ['admin.example:8081', 'https://admin.example', 'a b', '*', ',']) {
      expect(() => hosts(wrong)).toThrow('ADMIN_ALLOWED_HOSTS: must be host names')
    }
  })
})

describe('a variable that Kubernetes sets for a Service', () => {
  const address = 'tcp://10.0.0.1:5432'
  const services = ['POSTGRES', 'TEMPORAL', 'TEMPORAL_UI', 'SIMULATOR', 'ADMIN', 'INTERNAL']
  const links = Object.fromEntries(
    [...services, 'WORKER_INTERNAL'].map((name) => [`${name}_PORT`, address]),
  )

  it.each([
    ['api', { INTERNAL_PORT: '1' }],
    ['worker', { WORKER_INTERNAL_PORT: '1' }],
    ['admin', { ADMIN_PORT: '1' }],
    ['cli', {}],
  ] as const)('ends no process that does not listen there: %s', (reader, own) => {
    expect(() => readConfig({ ...links, ...own }, reader)).not.toThrow()
  })

  it('is refused with its cause where a process listens there', () => {
    expect(() => readConfig(links, 'admin')).toThrow(
      new ConfigError(
        'ADMIN_PORT: must be a whole number from 0 to 65535. Kubernetes sets it to an address for a ' +
          'Service of this name, unless the pod has `enableServiceLinks: false`',
      ),
    )
  })
})

describe('a variable of another process', () => {
  it('is neither checked nor used', () => {
    const wrong = { ADMIN_KEYS: 'x', KEY_PEPPER: 'short', PORT: 'x', ASSET_REDIRECT: 'on' }
    const { adminKeys, keyPeppers, port, assetRedirect } = readConfig(wrong, 'worker')
    expect([adminKeys, keyPeppers, port, assetRedirect]).toEqual([
      undefined,
      undefined,
      8080,
      false,
    ])
    expect(() => readConfig({ ...wrong, ADMIN_KEYS: '' }, 'admin')).toThrow(/^KEY_PEPPER: /)
  })
})

describe('a variable with a wrong value', () => {
  it.each(['eighty', '80.5', '-1', '65536', '1e3', ' ', '0x50'])(
    'is refused with the allowed values: PORT=%j',
    (value) => {
      expect(() => readConfig({ PORT: value })).toThrow(
        new ConfigError('PORT: must be a whole number from 0 to 65535'),
      )
    },
  )

  it('is refused with the limits of that variable', () => {
    expect(() => readConfig({ UPSTREAM_CALLS_MAX: '0', SYNC_DEADLINE_SECONDS: '9999' })).toThrow(
      'SYNC_DEADLINE_SECONDS: must be a whole number from 1 to 3600\n' +
        'UPSTREAM_CALLS_MAX: must be a whole number from 1 to 100',
    )
    expect(readConfig({ UPSTREAM_CALLS_MAX: ' 100 ' }).upstreamCallsMax).toBe(100)
  })

  it.each([
    'https://images.example/?a=b',
    'https://images.example/#top',
    'https://images.example?',
  ])('is refused as the base of URLs: %s', (url) => {
    expect(() => readConfig({ PUBLIC_URL: url })).toThrow(
      'PUBLIC_URL: must have no query and no fragment',
    )
  })
})

it.each([
  ['TEMPORAL_ADDRESS', 'http://127.0.0.1:7233', ['127.0.0.1:7233', 'temporal.example:7233']],
  ['TEMPORAL_METRICS_ADDRESS', 'localhost:9466', ['127.0.0.1:9466', '[::1]:9466']],
  ['TEMPORAL_METRICS_ADDRESS', '127.0.0.1:99999', ['0.0.0.0:65535']],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318', ['http://localhost:4318']],
  ['TEMPORAL_UI_URL', 'localhost:8233', ['https://temporal.example/ui']],
])('%s is refused as %s', (name, wrong, right) => {
  expect(() => readConfig({ [name]: wrong })).toThrow(new RegExp(`^${name}: `))
  for (const value of right) expect(() => readConfig({ [name]: value })).not.toThrow()
})

describe('PUBLIC_URL', () => {
  it('is known to be set or not, because its default is wrong in a worker', () => {
    expect(readConfig({}).publicUrlGiven).toBeUndefined()
    expect(readConfig({ PUBLIC_URL: 'https://images.example/' }).publicUrlGiven).toBe(
      'https://images.example',
    )
  })

  it('may have a path and loses its trailing slash', () => {
    const { publicUrl } = readConfig({ PUBLIC_URL: 'https://images.example/darkroom/' })
    expect(publicUrl).toBe('https://images.example/darkroom')
  })
})

describe.each(['SIGNING_KEYS', 'KEY_PEPPER'])('the secrets of %s', (variable) => {
  const secret = 'correct-horse-battery'

  it.each([
    [
      'two secrets with one id',
      `a:${secret},a:another-long-secret`,
      'two secrets have the same id',
    ],
    ['a secret without an id twice', `${secret},${secret}`, 'two secrets have the same id'],
    ['a short secret', 'a:fifteen-letters', 'each secret needs 16 characters or more'],
    ['one character many times', `a:${'x'.repeat(64)}`, '8 different ones among them'],
    ['a short pattern many times', `a:${'abc1234'.repeat(9)}`, '8 different ones among them'],
    ['a weak secret behind a good one', `a:${secret},b:${'0'.repeat(32)}`, '8 different ones'],
  ])('are refused with the name of the variable and no secret: %s', (_what, value, message) => {
    const read = () => readConfig({ [variable]: value })
    expect(read).toThrow(ConfigError)
    expect(read).toThrow(message)
    expect(read).toThrow(new RegExp(`^${variable}: `))
    expect(read).not.toThrow(new RegExp(`${secret}|another|fifteen-l|xxx|abc1|000`))
  })

  it('are accepted when each has an id of its own', () => {
    const { signingKeys, keyPeppers } = readConfig({ [variable]: `a:${secret},b:${secret}2` })
    expect((signingKeys ?? keyPeppers)?.map(({ id }) => id)).toEqual(['a', 'b'])
  })
})
