import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { randomText } from '../../src/domain/ids.ts'
import { createAuthenticate } from '../../src/tasks/apiKeys.ts'
import { createTaskStore } from '../../src/store/tasks/taskStore.ts'
import { createTestCaller } from '../support/database/testAccept.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { issueTestKey } from '../support/service/testAccount.ts'

const database = useTestDatabase()

const pepper = { id: 'p1', secret: 'a pepper of sixteen or more' }
const newer = { id: 'p2', secret: 'another pepper, made later on' }

function authenticateWith(peppers = [pepper]) {
  return createAuthenticate({ store: createTaskStore(database.pool), peppers })
}

async function issue() {
  const { accountId } = await createTestCaller(database.pool, 0)
  return issueTestKey(database.pool, accountId, pepper)
}

describe('authenticate', () => {
  it('refuses an invented secret without a query', async () => {
    let queries = 0
    const findCaller = async () => {
      queries += 1
      return undefined
    }
    const authenticate = createAuthenticate({ store: { findCaller }, peppers: [newer, pepper] })
    const { secret } = await issue()
    expect(await authenticate(secret)).toBeUndefined()
    expect(queries).toBe(1)
    for (let invented = 0; invented < 100; invented += 1) {
      const unsigned = `sk-${randomText(randomBytes, 42)}`
      expect(await authenticate(unsigned + randomText(randomBytes, 6))).toBeUndefined()
    }
    expect(queries).toBe(1)
  })

  it('verifies with every configured pepper, and with no other', async () => {
    const { secret } = await issue()
    expect(await authenticateWith([newer, pepper])(secret)).toBeDefined()
    expect(await authenticateWith([newer])(secret)).toBeUndefined()
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
