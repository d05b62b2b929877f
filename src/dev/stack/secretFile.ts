import { readFile, rename, rm, writeFile } from 'node:fs/promises'

/** The secret in a file of DATA_DIR; `undefined` without the file, and of an empty one, which a crash left. */
export const readSecretFile = async (path: string): Promise<string | undefined> => {
  try {
    const text = (await readFile(path, 'utf8')).trim()
    return text === '' ? undefined : text
  } catch (error) {
    // One that is there and cannot be read is never replaced: what it has signed would be lost.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Writes a secret for its owner alone (mode 0600). It comes by a rename, on the disk before: a crash
 * leaves all of it or none. One start at a time holds DATA_DIR, so nobody else writes it.
 */
export const writeSecretFile = async (path: string, secret: string): Promise<void> => {
  const draft = `${path}.new`
  // One that a crash left behind would keep its mode.
  await rm(draft, { force: true })
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, path)
}
