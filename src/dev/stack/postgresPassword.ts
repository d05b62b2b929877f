import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readSecretFile, writeSecretFile } from './secretFile.ts'
import { startFailure } from './startFailure.ts'

const passwordBytes = 24

/**
 * The password of the embedded PostgreSQL, generated once into DATA_DIR/postgres-password (0600).
 * Throws a start failure when the data is there and its password is not.
 */
export const postgresPassword = async (dataDir: string, pgData: string): Promise<string> => {
  const path = join(dataDir, 'postgres-password')
  const kept = await readSecretFile(path)
  if (kept !== undefined) return kept
  if (existsSync(join(pgData, 'PG_VERSION'))) {
    throw startFailure(
      `${path} is missing or empty, but ${pgData} holds data: restore it from a backup.`,
    )
  }
  // Hexadecimal: it goes into URLs and into Temporal's YAML as it is.
  const password = randomBytes(passwordBytes).toString('hex')
  await writeSecretFile(path, password)
  return password
}
