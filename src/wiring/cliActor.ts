import { hostname, userInfo } from 'node:os'
import type { Actor } from '../operations/operation.ts'

/**
 * Returns who runs this process, for the audit: `name`, which the operator may give, because in a container each has the
 * same user. A user of a container may have no name.
 */
export function cliActor(name: string | undefined): Actor {
  if (name !== undefined) return `cli:${name}`
  try {
    return `cli:${userInfo().username}@${hostname()}`
  } catch {
    return `cli:${process.getuid?.()}@${hostname()}`
  }
}
