import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { readConfig, required } from '../config.ts'
import { newAccountId } from '../domain/accounts/account.ts'
import { readSecretFile, writeSecretFile } from './secretFile.ts'
import { createPool } from '../store/connection/pool.ts'
import type { Pepper } from '../tasks/apiKeys.ts'
import { createAuthenticate, createIssueKey } from '../tasks/apiKeys.ts'
import { createAccountStore, createTaskStore } from '../wiring/stores.ts'

const demoCredits = 1_000_000

/** The peppers of API keys. New keys are hashed with the first pepper. Every pepper can verify a key. */
export type DemoPeppers = readonly [Pepper, ...Pepper[]]

/** Opens the demo account in the database that the variables name. Returns the secret of its API key. */
export async function openDemoAccount(
  keyPath: string,
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const { databaseSessionUrl, keyPeppers } = readConfig(environment)
  const [newest, ...older] = required(keyPeppers, 'KEY_PEPPER')
  const pool = createPool({
    databaseUrl: required(databaseSessionUrl, 'DATABASE_URL'),
    applicationName: 'darkroom-dev',
    connectionsMax: 1,
    onConnectionError: () => {},
  })
  try {
    return await demoKey(pool, keyPath, [required(newest, 'KEY_PEPPER'), ...older])
  } finally {
    await pool.end()
  }
}

/**
 * Returns the secret of an API key of the account `demo`. Creates the account and the key when there are
 * none. Keeps the secret in the file `keyPath` (mode 0600). When the kept secret does not work, makes a new
 * key: the old key was revoked, or the database or the pepper has changed.
 */
export async function demoKey(pool: Pool, keyPath: string, peppers: DemoPeppers): Promise<string> {
  const kept = await readSecretFile(keyPath)
  const authenticate = createAuthenticate({ store: createTaskStore(pool), peppers })
  if (kept !== undefined && (await authenticate(kept)) !== undefined) return kept
  const accounts = createAccountStore(pool)
  const accountId = newAccountId(randomBytes)
  await accounts.createAccount({ accountId, name: 'demo', credits: demoCredits })
  const issued = await createIssueKey({ accounts, pepper: peppers[0], randomBytes })('demo')
  if (issued === undefined) throw new Error('Bug: the account demo was just created')
  await writeSecretFile(keyPath, issued.secret)
  return issued.secret
}
