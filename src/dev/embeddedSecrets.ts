import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The secrets of an embedded installation, generated once and kept in DATA_DIR (mode 0600). */
export async function embeddedSecret(dataDir: string, name: string): Promise<string> {
  const path = join(dataDir, name)
  const made = `${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64url')}`
  try {
    await writeFile(path, `${made}\n`, { mode: 0o600, flag: 'wx' })
    return made
  } catch {
    return (await readFile(path, 'utf8')).trim()
  }
}
