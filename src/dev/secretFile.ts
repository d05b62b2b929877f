import { randomBytes } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Reads a secret of the embedded installation from DATA_DIR. Generates it when there is none. The text is
 * `id:secret`, the form that SIGNING_KEYS, KEY_PEPPER and WEBHOOK_KEYS need.
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
 * Reads a secret file. Returns `undefined` when the file does not exist. An empty file counts as missing. Throws when
 * the file cannot be read, because a new secret in its place would make invalid everything that needs the old one.
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
 * Writes a secret to a file that only its owner can read (mode 0600). Flushes a draft to the disk and then renames
 * it, so that a crash leaves either the whole new file, or what was there before. Nobody else writes at the same
 * time, because the caller owns the lock of DATA_DIR.
 */
export async function writeSecretFile(path: string, secret: string): Promise<void> {
  const draft = `${path}.new`
  // A crash may have left an old draft. If we wrote to it, it would keep its old mode.
  await rm(draft, { force: true })
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, path)
}
