import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { AttemptStore } from '../../../src/domain/ports/attemptStore.ts'
import type { Channel } from '../../../src/domain/upstream/channel.ts'
import type { AnnounceEnd } from '../../../src/store/tasks/endTask.ts'
import { createAttemptStore } from '../../../src/wiring/stores.ts'

/** A family B channel that no test calls, with the given fields replaced. */
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

/** Makes the presence of a task's calls look as if their worker had died: silent for a minute, doubted for 30 s. */
export async function loseWorker(pool: Pool, taskId: string): Promise<void> {
  await pool.query(
    `update attempt set seen_at = seen_at - interval '1 minute',
       doubted_at = now() - interval '30 seconds'
     where task_id = $1`,
    [taskId],
  )
}

/** Creates the attempt store of a worker, without jitter, and inserts the given channels. */
export async function createTestAttempts(
  pool: Pool,
  channels: readonly Channel[] = [testChannel()],
  announceEnd: AnnounceEnd = () => {},
): Promise<AttemptStore> {
  for (const { name } of channels) {
    await pool.query('insert into channel (name) values ($1) on conflict do nothing', [name])
  }
  return createAttemptStore({
    pool,
    announceEnd,
    randomBytes,
    random: () => 0,
    channelsOf: (family) => channels.filter((channel) => channel.family === family),
    callsMax: 3,
    retentionSeconds: 86_400,
    tombstoneSeconds: 604_800,
    inputRetentionSeconds: 86_400,
  })
}

/** Returns class and reason of each attempt of a task in order, for example `refused rate_limited`. */
export async function outcomesOf(pool: Pool, taskId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ outcome: string }>(
    `select coalesce(class, 'open') || ' ' || coalesce(reason, '') as outcome
     from attempt where task_id = $1 order by n`,
    [taskId],
  )
  return rows.map(({ outcome }) => outcome)
}
