import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { newAccountId } from '../domain/account.ts'
import { createAccountStore } from '../store/accountStore.ts'
import { createIssueKey } from '../tasks/issueKey.ts'
import type { Pepper } from '../tasks/secretHash.ts'

const demoCredits = 1_000_000

/** The account `demo` and its key, made once; the key lies in DATA_DIR/demo-key (mode 0600). */
export async function demoKey(pool: Pool, dataDir: string, pepper: Pepper): Promise<string> {
  const path = join(dataDir, 'demo-key')
  const kept = await readFile(path, 'utf8').catch(() => undefined)
  if (kept !== undefined) return kept.trim()
  const accounts = createAccountStore(pool)
  const accountId = newAccountId(randomBytes)
  await accounts.createAccount({ accountId, name: 'demo', credits: demoCredits })
  const issued = await createIssueKey({ accounts, pepper, randomBytes })('demo')
  if (issued === undefined) throw new Error('Bug: the account demo was just made')
  await writeFile(path, `${issued.secret}\n`, { mode: 0o600 })
  return issued.secret
}
