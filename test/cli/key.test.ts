import { beforeAll, describe, expect, it } from 'vitest'
import { createAuthenticate } from '../../src/tasks/apiKeys.ts'
import { createTaskStore } from '../../src/wiring/stores.ts'
import type { CliWorld } from './openCliWorld.ts'
import { openCliWorld } from './openCliWorld.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'

const pepper = { id: 'test', secret: 'pepper-of-the-tests-0123456789' }

let world: CliWorld

beforeAll(async () => {
  world = await openCliWorld({ environment: { KEY_PEPPER: `${pepper.id}:${pepper.secret}` } })
  return () => world.close()
})

describe('darkroom key', () => {
  it('creates keys that authenticate until they are revoked, and lists them without secrets', async () => {
    await darkroomJson(['account', 'create', 'keys'], world.environment)
    const create = ['key', 'create', 'keys', '--expires-days', '0.25']
    const made = await darkroomJson<{ key_id: string; secret: string }>(create, world.environment)
    expect(Object.keys(made).toSorted()).toEqual(['key_id', 'secret'])
    const store = createTaskStore(world.pool)
    const authenticate = createAuthenticate({ store, peppers: [pepper] })
    expect(await authenticate(made.secret)).toMatchObject({ keyId: made.key_id })

    await darkroomJson(['key', 'revoke', made.key_id], world.environment)
    expect(await authenticate(made.secret)).toBeUndefined()

    const listing = await runDarkroom(['key', 'list', 'keys', '--json'], world.environment)
    expect(listing.stdout).not.toContain(made.secret)
    const [key]: Record<string, string>[] = JSON.parse(listing.stdout)
    expect(key).toEqual({
      key_id: made.key_id,
      prefix: made.secret.slice(0, 7),
      created_at: expect.any(String),
      expires_at: expect.any(String),
      revoked_at: expect.any(String),
      budget: null,
      used: null,
      renews_at: null,
    })
    const validForMs = Date.parse(key?.['expires_at'] ?? '') - Date.parse(key?.['created_at'] ?? '')
    expect(validForMs).toBe(6 * 3_600_000)
  })

  it('refuses to revoke a key that does not exist', async () => {
    const { exitCode, stderr } = await runDarkroom(['key', 'revoke', 'key_none'], world.environment)
    expect(exitCode).toBe(1)
    expect(stderr).toContain('There is no API key')
  })
})
