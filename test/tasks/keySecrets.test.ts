import { describe, expect, it } from 'vitest'
import { randomText } from '../../src/domain/ids.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { authenticate } from '../../src/tasks/keySecrets.ts'
import { createTestCaller } from '../support/database/testAccept.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { issueTestKey } from '../support/service/testAccount.ts'

const database = useTestDatabase()

const pepper = { id: 'p1', secret: 'a pepper of sixteen or more' }
const newer = { id: 'p2', secret: 'another pepper, made later on' }

async function issue() {
  const { accountId } = await createTestCaller(database.pool, 0)
  return issueTestKey(database.pool, accountId, pepper)
}

describe('authenticate', () => {
  it('refuses an invented secret without a query', async () => {
    const { databaseUrl } = database
    const options = { applicationName: 'ended', connectionsMax: 1, onConnectionError: () => {} }
    const ended = createPool({ databaseUrl, ...options })
    await ended.end()
    const ask = (secret: string) => authenticate(ended, [newer, pepper], secret)
    const { secret } = await issue()
    await expect(ask(secret)).rejects.toThrow('after calling end')
    for (let invented = 0; invented < 100; invented += 1) {
      const unsigned = `sk-${randomText(42)}`
      expect(await ask(unsigned + randomText(6))).toBeUndefined()
    }
  })

  it('verifies with every configured pepper, and with no other', async () => {
    const { secret } = await issue()
    expect(await authenticate(database.pool, [newer, pepper], secret)).toBeDefined()
    expect(await authenticate(database.pool, [newer], secret)).toBeUndefined()
  })

  it('stores neither the secret nor a part of it beyond its prefix', async () => {
    const { keyId, secret } = await issue()
    const { rows } = await database.pool.query<{ row: string }>(
      'select k::text as row from api_key k where key_id = $1',
      [keyId],
    )
    expect(rows[0]?.row).toContain(secret.slice(0, 7))
    expect(rows[0]?.row).not.toContain(secret.slice(0, 12))
    expect(rows[0]?.row).not.toContain(Buffer.from(secret).toString('hex'))
  })
})
