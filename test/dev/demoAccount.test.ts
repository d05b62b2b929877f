import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { demoKey } from '../../src/dev/demoAccount.ts'
import { createAuthenticate } from '../../src/tasks/apiKeys.ts'
import { createAccountStore, createTaskStore } from '../../src/wiring/stores.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { tempFolder } from '../support/tempFolder.ts'

const pepper = { id: 'new', secret: 'a pepper of these tests' }
const older = { id: 'old', secret: 'an earlier pepper' }

const database = useTestDatabase()

function authenticate(secret: string) {
  return createAuthenticate({ store: createTaskStore(database.pool), peppers: [pepper] })(secret)
}

describe("the demo account's key", () => {
  it('stays the same at the next start, also after a new pepper was added', async () => {
    const path = join(tempFolder(), 'demo-key')
    const key = await demoKey(database.pool, path, [older])
    expect(await demoKey(database.pool, path, [older])).toBe(key)
    expect(await demoKey(database.pool, path, [pepper, older])).toBe(key)
  })

  it('is replaced when it no longer authenticates, after a change of pepper or database', async () => {
    const path = join(tempFolder(), 'demo-key')
    const refused = await demoKey(database.pool, path, [older])
    const key = await demoKey(database.pool, path, [pepper])
    expect(key).not.toBe(refused)
    expect(readFileSync(path, 'utf8')).toBe(`${key}\n`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const demo = await createAccountStore(database.pool).findAccount('demo')
    expect(await authenticate(key)).toMatchObject({ accountId: demo?.accountId })
  })

  it('is replaced when the file is empty or holds something else', async () => {
    const path = join(tempFolder(), 'demo-key')
    for (const text of ['', 'not a key\n']) {
      writeFileSync(path, text)
      expect(await authenticate(await demoKey(database.pool, path, [pepper]))).toBeDefined()
    }
  })
})
