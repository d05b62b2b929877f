import { randomBytes } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Reads a secret of the embedded installation from DATA_DIR, or generates it. The text is `id:secret`, as
 * SIGNING_KEYS and KEY_PEPPER have it.
 */
export async function embeddedSecret(dataDir: string, name: string): Promise<string> {
  const path = join(dataDir, name)
  const kept = await readSecretFile(path)
  if (kept !== undefined) return kept
  const made = `${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64url')}`
  await writeSecretFile(path, made)
  return made
}

/**
 * Reads a secret file. Returns `undefined` when there is no file, or an empty one, which a crash can leave.
 * Throws when the file cannot be read: replacing the secret would invalidate everything signed with it.
 */
export async function readSecretFile(path: string): Promise<string | undefined> {
  try {
    const text = (await readFile(path, 'utf8')).trim()
    return text === '' ? undefined : text
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Writes a secret that only its owner can read (mode 0600). The draft is flushed to disk before the rename,
 * so a crash leaves the whole file or none. The lock of DATA_DIR excludes other writers.
 */
export async function writeSecretFile(path: string, secret: string): Promise<void> {
  const draft = `${path}.new`
  // Writing to a draft that a crash left behind would keep its mode.
  await rm(draft, { force: true })
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, path)
}
