import { chmod, lstat, mkdir, stat } from 'node:fs/promises'
import { StartError } from './startError.ts'

/**
 * Creates a folder that only this user can enter. If the folder exists, takes the rights of other users away. From
 * then on nobody else can put anything into it, so its content needs no further check.
 *
 * Throws `StartError` when another user owns the folder, or owns a link of that name: that user could
 * replace any file in it, and root would follow the links that the user has planted.
 *
 * @param variable the environment variable by which the operator chooses another folder.
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
  // If this process runs as root, the folder may let the group of PostgreSQL's own user pass: see `letGroupPass`.
  const kept = user === 0 && folder.gid !== 0 ? 0o710 : 0o700
  await chmod(path, folder.mode & kept)
}
