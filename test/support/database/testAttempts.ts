import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { AttemptStore } from '../../../src/domain/ports/attemptStore.ts'
import type { Channel } from '../../../src/domain/channel.ts'
import { createAttemptStore } from '../../../src/store/attemptStore.ts'

export function testChannel(given: Partial<Channel> = {}): Channel {
  return {
    name: 'b-main',
    family: 'B',
    baseUrl: 'http://127.0.0.1:9/v1',
    apiKey: 'upstream-credential',
    models: {},
    timeoutMs: 5_000,
    concurrencyMax: 50,
    ...given,
  }
}

/** As if the worker of a task's calls had died a while ago, and been doubted since. */
export async function loseWorker(pool: Pool, taskId: string): Promise<void> {
  await pool.query(
    `update attempt set seen_at = seen_at - interval '1 minute',
       doubted_at = now() - interval '30 seconds'
     where task_id = $1`,
    [taskId],
  )
}

/** The transactions of execution as a worker has them, without jitter, over channels of the test's own. */
export async function createTestAttempts(
  pool: Pool,
  channels: readonly Channel[] = [testChannel()],
): Promise<AttemptStore> {
  for (const { name } of channels) {
    await pool.query('insert into channel (name) values ($1) on conflict do nothing', [name])
  }
  return createAttemptStore({
    pool,
    randomBytes,
    random: () => 0,
    channelsOf: (family) => channels.filter((channel) => channel.family === family),
    callsMax: 3,
    retentionSeconds: 86_400,
    tombstoneSeconds: 604_800,
  })
}

/** What the upstream's answers to one task were taken for, in order: `refused rate_limited`. */
export async function outcomesOf(pool: Pool, taskId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ outcome: string }>(
    `select coalesce(class, 'open') || ' ' || coalesce(reason, '') as outcome
     from attempt where task_id = $1 order by n`,
    [taskId],
  )
  return rows.map(({ outcome }) => outcome)
}
