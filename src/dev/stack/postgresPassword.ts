import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startFailure } from './startFailure.ts'

const passwordBytes = 24

/**
 * The password of the embedded PostgreSQL, generated once into DATA_DIR/postgres-password (0600).
 * Throws a start failure when the data is there and its password is not.
 */
export const postgresPassword = async (dataDir: string, pgData: string): Promise<string> => {
  const path = join(dataDir, 'postgres-password')
  if (existsSync(path)) return readFileSync(path, 'utf8').trim()
  if (existsSync(join(pgData, 'PG_VERSION'))) {
    throw startFailure(`${path} is missing, but ${pgData} holds data: restore it from a backup.`)
  }
  // Hexadecimal: it goes into URLs and into Temporal's YAML as it is.
  const password = randomBytes(passwordBytes).toString('hex')
  await writeFile(path, `${password}\n`, { mode: 0o600 })
  return password
}
