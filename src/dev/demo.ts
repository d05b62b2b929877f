import type { Config } from '../config/environment.ts'
import { httpUrl, readConfig, required } from '../config/environment.ts'
import { newAccountId } from '../domain/accounts/account.ts'
import { createPool } from '../store/connection/pool.ts'
import { authenticate, newKeyId, newSecret } from '../tasks/keySecrets.ts'
import { createAccount, findAccount } from '../store/accounts/accountRows.ts'
import { createKey } from '../store/accounts/apiKeys.ts'
import { readSecretFile, writeSecretFile } from './dataDir.ts'

const demoCredits = 1_000_000
const demoRequest = JSON.stringify({
  model: 'familyb-image-2-vip',
  action: 'generate',
  prompt: 'A lighthouse at dusk',
  size: '1024x1024',
})

/**
 * Returns the secret of an API key of the account `demo`, in the database that the variables name. Creates
 * the account and the key when there are none. Keeps the secret in the file `keyPath` (mode 0600). When the
 * kept secret does not work, makes a new key: the old key was revoked, or the database or the pepper has
 * changed.
 */
export async function openDemoAccount(
  keyPath: string,
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const { databaseSessionUrl, keyPeppers } = readConfig(environment)
  const peppers = required(keyPeppers, 'KEY_PEPPER')
  const pool = createPool({
    databaseUrl: required(databaseSessionUrl, 'DATABASE_URL'),
    applicationName: 'darkroom-dev',
    connectionsMax: 1,
    onConnectionError: () => {},
  })
  try {
    const kept = await readSecretFile(keyPath)
    const isValid = kept !== undefined && (await authenticate(pool, peppers, kept)) !== undefined
    if (isValid) return kept
    const demo = { accountId: newAccountId(), name: 'demo', credits: demoCredits }
    await createAccount(pool, demo)
    const accountId = (await findAccount(pool, demo.name))?.account_id ?? demo.accountId
    const { secret, ...hashed } = newSecret(peppers[0])
    await createKey(pool, { keyId: newKeyId(), accountId, ...hashed })
    await writeSecretFile(keyPath, secret)
    return secret
  } finally {
    await pool.end()
  }
}

/**
 * Returns what `npm start` prints when it is ready: the addresses, and commands to copy. The API key itself
 * is printed only on a terminal, because any other output may be kept as a log.
 *
 * @param adminKeyPath the file with the generated key of operators. Absent when ADMIN_KEYS is set.
 * @param demo the demo account's API key, and its file. Absent when HOST is not a loopback address.
 */
export function announcement(
  { host, port, adminHost, adminPort, publicPages }: Config,
  adminKeyPath: string | undefined,
  demo: { readonly key: string; readonly keyPath: string } | undefined,
): string {
  const [apiUrl, adminUrl] = [httpUrl(host, port), httpUrl(adminHost, adminPort)]
  const adminKey = adminKeyPath === undefined ? 'a key of ADMIN_KEYS' : `the key in ${adminKeyPath}`
  const lines = [`\nDarkroom is ready at ${apiUrl}`, `For operators: ${adminUrl}, with ${adminKey}`]
  if (demo === undefined) return lines.join('\n')
  const bearer = `-H "Authorization: Bearer $(cat '${demo.keyPath}')"`
  lines.push(
    `Key of account demo: ${process.stdout.isTTY ? demo.key : `in ${demo.keyPath}`}`,
    publicPages
      ? `\nOpen ${apiUrl} in a browser and paste the key, or submit a task:\n`
      : '\nSubmit a task:\n',
    `curl -s ${apiUrl}/v1/images/tasks ${bearer} \\`,
    `  -H 'Content-Type: application/json' -H "Idempotency-Key: $(date +%s)" \\`,
    `  -d '${demoRequest}'`,
    `\nThen, with the task_id of the answer:\n\ncurl -s ${apiUrl}/v1/tasks/TASK_ID ${bearer}\n`,
  )
  return lines.join('\n')
}
