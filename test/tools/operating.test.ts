import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/environment.ts'
import { tempFolder } from '../support/tempFolder.ts'

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = textOf('docs/operating.md')
const compose = textOf('docker-compose.yml')

describe('docs/operating.md', () => {
  it('gives every variable that docker-compose.yml requires, with secrets that a process accepts', () => {
    const blocks = [...page.matchAll(/^```sh\n(.+?)^```$/gms)].map(([, text = '']) => text)
    const run = blocks.filter((text) => !text.startsWith('# Not run here'))
    expect(run).toHaveLength(1)
    const cwd = tempFolder()
    execFileSync('sh', ['-euc', run[0] ?? ''], { cwd })
    const written = readFileSync(join(cwd, '.env'), 'utf8')
    const env = new Map(
      written
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    const required = [...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name)
    expect(required.length).toBeGreaterThan(8)
    expect(required.filter((name) => (env.get(name) ?? '') === '')).toEqual([])
    const config = readConfig(Object.fromEntries(env))
    expect(config.signingKeys).toHaveLength(1)
    expect(config.keyPeppers).toHaveLength(1)
    // The passwords are parts of URLs.
    const passwords = [...env].filter(([name]) => name.endsWith('_PASSWORD'))
    expect(passwords.filter(([, value]) => !/^[0-9a-f]{64}$/.test(value))).toEqual([])
    expect(env.get('AWS_ENDPOINT_URL_S3')).toBe('http://s3:7070')
    expect(compose).toContain(
      `mkdir -p /data/buckets/${new URL(env.get('BLOB_STORE') ?? '').host} `,
    )
  })

  it.each(['.gitignore', '.dockerignore'])('writes files that %s keeps out', (path) => {
    expect(textOf(path).split('\n')).toEqual(
      expect.arrayContaining(['.env', 'darkroom.config.json']),
    )
  })
})

it('every alert says what to do', () => {
  const alerts = textOf('deploy/alerts.yml').split('- alert: ').slice(1)
  expect(alerts.length).toBeGreaterThan(15)
  expect(alerts.filter((text) => !/^ {10}action: >-\n {12}\S/m.test(text))).toEqual([])
})
