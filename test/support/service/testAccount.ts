import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { newAccountId } from '../../../src/domain/accounts/account.ts'
import { createAccount } from '../../../src/store/accounts/accountRows.ts'
import type { NewApiKey } from '../../../src/store/accounts/apiKeys.ts'
import { createKey } from '../../../src/store/accounts/apiKeys.ts'
import type { Pepper } from '../../../src/tasks/keySecrets.ts'
import { newKeyId, newSecret } from '../../../src/tasks/keySecrets.ts'

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
    const accountId = newAccountId()
    await createAccount(pool, { accountId, name, credits })
    return { name, accountId, ...(await issueTestKey(pool, accountId, pepper)) }
  }
}

/** Makes an API key of an account. */
export async function issueTestKey(
  pool: Pool,
  accountId: string,
  pepper: Pepper,
  terms: Partial<Pick<NewApiKey, 'expiresInMs' | 'budget'>> = {},
) {
  const { secret, ...hashed } = newSecret(pepper)
  const keyId = newKeyId()
  await createKey(pool, {
    keyId,
    accountId,
    ...hashed,
    ...terms,
  })
  return { keyId, secret }
}
