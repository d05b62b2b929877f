import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readSecretFile, writeSecretFile } from './stack/secretFile.ts'

/** The secrets of an embedded installation, generated once and kept in DATA_DIR (mode 0600). */
export async function embeddedSecret(dataDir: string, name: string): Promise<string> {
  const path = join(dataDir, name)
  const kept = await readSecretFile(path)
  if (kept !== undefined) return kept
  const made = `${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64url')}`
  await writeSecretFile(path, made)
  return made
}
