import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { demoKey } from '../../src/dev/demoAccount.ts'
import { createAccountStore } from '../../src/store/accounts/accountStore.ts'
import { createTaskStore } from '../../src/store/taskStore.ts'
import { createAuthenticate } from '../../src/tasks/apiKeys.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { tempFolder } from '../support/tempFolder.ts'

const pepper = { id: 'new', secret: 'a pepper of these tests' }
const older = { id: 'old', secret: 'a pepper of other times' }

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  return () => database.drop()
})

function opens(secret: string) {
  return createAuthenticate({ store: createTaskStore(database.pool), peppers: [pepper] })(secret)
}

describe("the demo account's key", () => {
  it('is kept from start to start, also when another pepper came to make keys', async () => {
    const dataDir = tempFolder()
    const key = await demoKey(database.pool, dataDir, [older])
    expect(await demoKey(database.pool, dataDir, [older])).toBe(key)
    expect(await demoKey(database.pool, dataDir, [pepper, older])).toBe(key)
  })

  it('gives way to one that opens, after a change of pepper or database', async () => {
    const dataDir = tempFolder()
    const path = join(dataDir, 'demo-key')
    const dead = await demoKey(database.pool, dataDir, [older])
    const key = await demoKey(database.pool, dataDir, [pepper])
    expect(key).not.toBe(dead)
    expect(readFileSync(path, 'utf8')).toBe(`${key}\n`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const demo = await createAccountStore(database.pool).findAccount('demo')
    expect(await opens(key)).toMatchObject({ accountId: demo?.accountId })
  })

  it('gives way to one that opens when the file is empty or holds something else', async () => {
    const dataDir = tempFolder()
    for (const text of ['', 'not a key\n']) {
      writeFileSync(join(dataDir, 'demo-key'), text)
      expect(await opens(await demoKey(database.pool, dataDir, [pepper]))).toBeDefined()
    }
  })
})
