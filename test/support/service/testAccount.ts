import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { newAccountId } from '../../../src/domain/accounts/account.ts'
import { createIssueKey } from '../../../src/tasks/apiKeys.ts'
import { createAccountStore } from '../../../src/store/accounts/accountStore.ts'

/** An account with one API key. */
export type TestAccount = {
  readonly name: string
  readonly accountId: string
  readonly keyId: string
  readonly secret: string
}

/** Returns a function that makes accounts in a database. `keyPepper` is the `id:secret` of the service. */
export function createAccounts(pool: Pool, keyPepper: string) {
  const [id = '', secret = ''] = keyPepper.split(':')
  const pepper = { id, secret }
  return async (
    credits = 1_000_000,
    name = `test-${randomBytes(6).toString('hex')}`,
  ): Promise<TestAccount> => {
    const accounts = createAccountStore(pool)
    const accountId = newAccountId(randomBytes)
    await accounts.createAccount({ accountId, name, credits })
    const issued = await createIssueKey({ accounts, pepper, randomBytes })(name)
    if (issued === undefined) throw new Error('no key for an account just made')
    return { name, accountId, keyId: issued.key.keyId, secret: issued.secret }
  }
}
