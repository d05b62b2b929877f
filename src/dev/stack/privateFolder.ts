import { chmod, lstat, mkdir, stat } from 'node:fs/promises'
import { StartError } from './startError.ts'

/**
 * Creates a folder that only this user can enter, or takes the rights of other users away from an existing
 * one. What is in it needs no check of its own then: nobody else could have put it there.
 *
 * Throws `StartError` when another user owns the folder, or owns a link of that name: that user could
 * replace any file in it, and root would follow the links that the user has planted.
 *
 * @param variable the environment variable that names another folder.
 */
export async function makePrivateFolder(path: string, variable: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
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
  // As root, the folder may let the group of PostgreSQL's own user pass: see `letGroupPass`.
  const kept = user === 0 && folder.gid !== 0 ? 0o710 : 0o700
  await chmod(path, folder.mode & kept)
}
