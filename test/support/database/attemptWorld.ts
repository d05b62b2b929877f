import type { AttemptStore } from '../../../src/store/attempts/attemptStore.ts'
import type { Channel } from '../../../src/domain/upstream/channel.ts'
import { useOpened } from '../useOpened.ts'
import { createTestAttempts } from './testAttempts.ts'
import type { TestDatabase } from './testDatabase.ts'
import { createTestDatabase } from './testDatabase.ts'

/** A database with the given channels, and the attempt store of a worker on it. */
export type AttemptWorld = Pick<TestDatabase, 'databaseUrl' | 'pool'> & {
  readonly attempts: AttemptStore
}

/**
 * Opens an `AttemptWorld` before the tests of the calling file, and drops its database after them. The fields
 * can be read from the first test or hook on.
 */
export function useAttemptWorld(channels?: readonly Channel[]): AttemptWorld {
  return useOpened(
    async () => {
      const database = await createTestDatabase()
      const attempts = await createTestAttempts(database.pool, channels)
      return { ...database, attempts }
    },
    ({ close }) => close(),
    ['databaseUrl', 'pool', 'attempts'],
  )
}
