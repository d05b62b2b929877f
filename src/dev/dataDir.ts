import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { chmod, lstat, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from './command.ts'
import { withTimeout } from '../domain/withTimeout.ts'

/** A lock on a file, which this process holds until `release`, and which children may hold too. */
export type FileLock = { readonly fd: number; readonly release: () => void }

const lockPollMs = 200
/** Limit for making a folder. */
const makeFolderMsMax = 10_000

/**
 * Opens a file and locks it. While another process holds the lock, calls `onWait` once and waits. Returns
 * `undefined` after `timeoutMs`.
 *
 * `flock` locks the open file, which it shares with this process, so the lock stays when `flock` has ended.
 * The kernel frees it when the last process that has this file open ends, in whatever way. A part that gets
 * the file descriptor holds the lock with this process: nobody else gets it before all the parts of a killed
 * start have ended. Where there is no `flock`, nothing is locked.
 */
export async function lockFile(
  path: string,
  { timeoutMs, onWait }: { readonly timeoutMs: number; readonly onWait?: () => void },
): Promise<FileLock | undefined> {
  const fd = openSync(path, 'a', 0o600)
  const endsAtMs = performance.now() + timeoutMs
  for (let tries = 1; ; tries += 1) {
    const flock = spawnSync('flock', ['-x', '-n', '3'], {
      stdio: ['ignore', 'ignore', 'ignore', fd],
    })
    if (flock.status === 0 || flock.error) return { fd, release: () => closeSync(fd) }
    if (performance.now() > endsAtMs) {
      closeSync(fd)
      return undefined
    }
    if (tries === 1) onWait?.()
    await sleep(lockPollMs)
  }
}

/**
 * Creates a folder that only this user can enter. If the folder exists, takes the rights of other users away.
 * From then on nobody else can put anything into it, so its content needs no further check.
 *
 * Throws `StartError` when the folder cannot be made in time. Throws it too when another user owns the folder, or a link
 * of its name: that user could replace any file in it, and root would follow the links that the user has planted.
 *
 * @param variable the environment variable by which the operator chooses another folder.
 */
export async function makePrivateFolder(path: string, variable: string): Promise<void> {
  // Node tries for ever to make a folder in one that takes none, such as `/proc`.
  const make = () => mkdir(path, { recursive: true, mode: 0o700 })
  await withTimeout(makeFolderMsMax, make).catch((error: Error) => {
    throw new StartError(`${path} cannot be made (${variable}): ${error.message}`)
  })
  const user = process.getuid?.()
  // Windows has no owners and modes of this kind.
  if (user === undefined) return
  const [link, folder] = [await lstat(path), await stat(path)]
  const stranger = [link.uid, folder.uid].find((owner) => owner !== user)
  if (stranger !== undefined) {
    throw new StartError(
      `${path} belongs to the user with the number ${stranger}, and this process runs as ${user}. ` +
        `Run Darkroom as that user, or set ${variable} to a folder of your own.`,
    )
  }
  await chmod(path, folder.mode & 0o700)
}

/** Returns the secret in a file of the embedded installation. Generates it after `prefix` when there is none. */
export async function embeddedSecret(path: string, prefix = ''): Promise<string> {
  const kept = await readSecretFile(path)
  if (kept !== undefined) return kept
  const made = prefix + randomBytes(32).toString('base64url')
  await writeSecretFile(path, made)
  return made
}

/**
 * Reads a secret file. Returns `undefined` when the file does not exist. An empty file counts as missing.
 * Throws when the file cannot be read, because a new secret in its place would make invalid everything that
 * needs the old one.
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
 * Writes a secret to a file that only its owner can read (mode 0600). Flushes a draft to the disk and then
 * renames it, so that a crash leaves either the whole new file, or what was there before.
 */
export async function writeSecretFile(path: string, secret: string): Promise<void> {
  const draft = `${path}.new`
  // A crash may have left an old draft. If we wrote to it, it would keep its old mode.
  await rm(draft, { force: true })
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, path)
}
