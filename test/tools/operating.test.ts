import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createProgram } from '../../src/cli/runCli.ts'
import { readConfig } from '../../src/config/environment.ts'
import { closedContext } from '../support/service/darkroomCli.ts'
import { tempFolder } from '../support/tempFolder.ts'

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = textOf('docs/operating.md')
const compose = textOf('docker-compose.yml')
const [, ...blocks] = page.split(/^```sh\n/m).map((text) => text.split(/^```$/m)[0] ?? '')

describe('docs/operating.md', () => {
  it('gives every variable that docker-compose.yml requires, with secrets that a process accepts', () => {
    const block = blocks.find((text) => text.includes('umask'))
    const cwd = tempFolder()
    execFileSync('sh', ['-euc', block ?? ''], { cwd })
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

const walk = textOf('deploy/test/walk.ts')

it('deploy/test/walk.ts runs every block of commands, but for one that says what it needs', () => {
  const words = [...walk.matchAll(/runBlock\('([^']+)'/g)].map(([, word = '']) => word)
  const run = words.map((word) => blocks.find((block) => block.includes(word)))
  expect(run).not.toContain(undefined)
  expect(blocks.filter((block) => !run.includes(block))).toEqual([
    expect.stringMatching(/^# Needs your servers/),
  ])
})

const alert = z.object({ alert: z.string(), annotations: z.object({ action: z.string() }) })
const alerts = z
  .object({ groups: z.array(z.object({ rules: z.array(alert) })) })
  .parse(load(textOf('deploy/alerts.yml')))
  .groups.flatMap(({ rules }) => rules)
const parts = [...page.matchAll(/^#{2,3} (.+)$|^\*\*([A-Z][^*]+)\.\*\*/gm)].map(
  ([, heading, paragraph]) => heading ?? paragraph,
)
// test/cli/audit.test.ts calls each of them, or knows its own test.
const commands = createProgram(closedContext).commands.flatMap((group) =>
  group.commands.map((command) => `${group.name()} ${command.name()}`),
)

describe('what to do about an alert', () => {
  it.each(alerts.map(({ alert: name, annotations }) => [name, annotations.action]))(
    '%s: a command, a part of the guide, or what it needs',
    (_, action) => {
      const named = [...action.matchAll(/darkroom (\w+ \w+)/g)].map(([, command]) => command)
      const quoted = [...action.matchAll(/"([^"]+)"/g)].map(([, part]) => part)
      expect(named.filter((command) => !commands.includes(command ?? ''))).toEqual([])
      expect(quoted.filter((part) => !parts.includes(part))).toEqual([])
      expect(named.length + quoted.length > 0 || action.startsWith('Needs ')).toBe(true)
    },
  )
})
