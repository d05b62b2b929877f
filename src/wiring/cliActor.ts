import { hostname, userInfo } from 'node:os'
import type { Actor } from '../operations/operation.ts'

/** Returns who runs this process, for the audit. A user of a container may have no name. */
export function cliActor(): Actor {
  try {
    return `cli:${userInfo().username}@${hostname()}`
  } catch {
    return `cli:${process.getuid?.()}@${hostname()}`
  }
}
