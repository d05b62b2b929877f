import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createTaskStore } from '../../src/wiring/stores.ts'
import { createAuthenticate } from '../../src/tasks/apiKeys.ts'
import { darkroomJson, runDarkroom } from '../support/cli.ts'
import type { TestDatabase } from '../support/database.ts'
import { createTestDatabase } from '../support/database.ts'

let database: TestDatabase
let environment: Record<string, string>

const pepper = { id: 'test', secret: 'pepper-of-the-tests-0123456789' }

beforeAll(async () => {
  database = await createTestDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'darkroom-cli-'))
  environment = {
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: dataDir,
    KEY_PEPPER: `${pepper.id}:${pepper.secret}`,
  }
  return async () => {
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  }
})

type Shown = { account_id: string; name: string; available: number; held: number; spent: number }

describe('darkroom account', () => {
  it('opens an account with its deposit, tops it up and shows exactly five fields', async () => {
    const created = await darkroomJson<Shown>(
      ['account', 'create', 'acme', '--credits', '100', '--models', 'familya-3-pro-image'],
      environment,
    )
    expect(created).toEqual({
      account_id: expect.stringMatching(/^acct_[0-9A-Za-z]{16}$/),
      name: 'acme',
      available: 100,
      held: 0,
      spent: 0,
    })
    await darkroomJson(['account', 'topup', 'acme', '23'], environment)
    const shown = await darkroomJson<Shown>(['account', 'show', 'acme'], environment)
    expect(shown).toEqual({ ...created, available: 123 })
    const listed = await darkroomJson<object[]>(['account', 'list'], environment)
    expect(listed).toMatchObject([{ name: 'acme', models: ['familya-3-pro-image'] }])
    const verified = await darkroomJson(['ledger', 'verify'], environment)
    expect(verified).toEqual({ ok: true, violations: [] })
  })

  it('refuses a name that is taken, and one that is not there, with exit code 1', async () => {
    await darkroomJson(['account', 'create', 'twice', '--credits', '5'], environment)
    const second = await runDarkroom(['account', 'create', 'twice', '--credits', '7'], environment)
    expect(second).toMatchObject({ exitCode: 1, stdout: '' })
    expect(second.stderr).toContain('an account named "twice" already')
    const shown = await darkroomJson<Shown>(['account', 'show', 'twice'], environment)
    expect(shown.available).toBe(5)
    for (const args of [
      ['account', 'show', 'nobody'],
      ['account', 'topup', 'nobody', '1'],
      ['key', 'create', 'nobody'],
      ['key', 'list', 'nobody'],
    ]) {
      expect((await runDarkroom(args, environment)).exitCode).toBe(1)
    }
  })

  it('answers people with a table', async () => {
    await darkroomJson(['account', 'create', 'people', '--credits', '42'], environment)
    const { stdout, stderr } = await runDarkroom(['account', 'list'], environment)
    expect(stdout).toMatch(/^NAME +AVAILABLE +HELD +SPENT +MODELS +ID\n/)
    expect(stdout).toMatch(/^people +42 +0 +0 +all +acct_/m)
    expect(stderr).toBe('')
  })
})

describe('darkroom key', () => {
  it('makes keys that authenticate until they are revoked, and lists them without secrets', async () => {
    await darkroomJson(['account', 'create', 'keys'], environment)
    const create = ['key', 'create', 'keys', '--expires-days', '0.25']
    const made = await darkroomJson<{ key_id: string; secret: string }>(create, environment)
    expect(Object.keys(made).toSorted()).toEqual(['key_id', 'secret'])
    const store = createTaskStore(database.pool)
    const authenticate = createAuthenticate({ store, peppers: [pepper] })
    expect(await authenticate(made.secret)).toMatchObject({ keyId: made.key_id })

    await darkroomJson(['key', 'revoke', made.key_id], environment)
    expect(await authenticate(made.secret)).toBeUndefined()

    const listing = await runDarkroom(['key', 'list', 'keys', '--json'], environment)
    expect(listing.stdout).not.toContain(made.secret)
    const [key]: Record<string, string>[] = JSON.parse(listing.stdout)
    expect(key).toEqual({
      key_id: made.key_id,
      prefix: made.secret.slice(0, 7),
      created_at: expect.any(String),
      expires_at: expect.any(String),
      revoked_at: expect.any(String),
    })
    const lifeMs = Date.parse(key?.['expires_at'] ?? '') - Date.parse(key?.['created_at'] ?? '')
    expect(lifeMs).toBe(6 * 3_600_000)
  })

  it('refuses to revoke a key that is not there', async () => {
    const { exitCode, stderr } = await runDarkroom(['key', 'revoke', 'key_none'], environment)
    expect(exitCode).toBe(1)
    expect(stderr).toContain('There is no key')
  })
})

describe('darkroom ledger verify', () => {
  it('names what it finds wrong and ends with exit code 1', async () => {
    const { account_id } = await darkroomJson<Shown>(
      ['account', 'create', 'short', '--credits', '9'],
      environment,
    )
    await database.pool.query('update balance set available = 8 where account_id = $1', [
      account_id,
    ])
    const { exitCode, stdout } = await runDarkroom(['ledger', 'verify', '--json'], environment)
    await database.pool.query('update balance set available = 9 where account_id = $1', [
      account_id,
    ])
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      violations: [
        { kind: 'available_differs', account_id },
        { kind: 'deposits_differ', account_id },
      ],
    })
  })
})
