import type { Pool } from 'pg'
import { onTestFinished } from 'vitest'
import { createPool } from '../../../src/store/connection/pool.ts'
import type { TestDatabase } from './testDatabase.ts'

/** Opens a pool that plans its statements as the pools of the services do, until the end of the test. */
export function openServicePool(
  { databaseUrl }: Pick<TestDatabase, 'databaseUrl'>,
  connectionsMax: number,
): Pool {
  const pool = createPool({
    databaseUrl,
    applicationName: 'service',
    connectionsMax,
    plansOnce: true,
    onConnectionError: () => {},
  })
  onTestFinished(() => pool.end())
  return pool
}
