import { beforeAll } from 'vitest'
import type { AttemptStore } from '../../../src/domain/ports/attemptStore.ts'
import type { Channel } from '../../../src/domain/upstream/channel.ts'
import type { AnnounceEnd } from '../../../src/store/tasks/announceEnd.ts'
import { createTestAttempts } from './testAttempts.ts'
import type { TestDatabase } from './testDatabase.ts'
import { createTestDatabase } from './testDatabase.ts'

/** A database with the given channels, and the attempt store of a worker on it. */
type AttemptWorld = Pick<TestDatabase, 'databaseUrl' | 'pool'> & { readonly attempts: AttemptStore }

/**
 * Opens an `AttemptWorld` before the tests of the calling file, and drops its database after them. The fields
 * can be read from the first test or hook on.
 */
export function useAttemptWorld(
  channels?: readonly Channel[],
  announceEnd?: AnnounceEnd,
): AttemptWorld {
  let opened: AttemptWorld | undefined
  beforeAll(async () => {
    const { databaseUrl, pool, drop } = await createTestDatabase()
    opened = { databaseUrl, pool, attempts: await createTestAttempts(pool, channels, announceEnd) }
    return drop
  })
  const world = () => {
    if (opened === undefined) throw new Error('the world opens before the first test')
    return opened
  }
  return {
    get databaseUrl() {
      return world().databaseUrl
    },
    get pool() {
      return world().pool
    },
    get attempts() {
      return world().attempts
    },
  }
}
