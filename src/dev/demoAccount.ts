import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { newAccountId } from '../domain/account.ts'
import { createAuthenticate, createIssueKey } from '../tasks/apiKeys.ts'
import type { Pepper } from '../tasks/apiKeys.ts'
import { createAccountStore, createTaskStore } from '../wiring/stores.ts'
import { readSecretFile, writeSecretFile } from './stack/secretFile.ts'

const demoCredits = 1_000_000

/** The newest pepper, which makes, and all that verify. */
export type DemoPeppers = readonly [Pepper, ...Pepper[]]

/**
 * The account `demo` and its key, made once; the key lies in DATA_DIR/demo-key (mode 0600). A kept key
 * that opens nothing, being of another database or pepper, or revoked, gives way to another.
 */
export async function demoKey(pool: Pool, dataDir: string, peppers: DemoPeppers): Promise<string> {
  const path = join(dataDir, 'demo-key')
  const kept = await readSecretFile(path)
  const authenticate = createAuthenticate({ store: createTaskStore(pool), peppers })
  if (kept !== undefined && (await authenticate(kept)) !== undefined) return kept
  const accounts = createAccountStore(pool)
  const accountId = newAccountId(randomBytes)
  await accounts.createAccount({ accountId, name: 'demo', credits: demoCredits })
  const issued = await createIssueKey({ accounts, pepper: peppers[0], randomBytes })('demo')
  if (issued === undefined) throw new Error('Bug: the account demo was just made')
  await writeSecretFile(path, issued.secret)
  return issued.secret
}
