import { randomBytes } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import type { AttemptStore } from '../../../src/domain/ports/attemptStore.ts'
import type { AnswerMeta } from '../../../src/domain/upstream/answerMeta.ts'
import type { Channel } from '../../../src/domain/upstream/channel.ts'
import type { Beats } from '../../../src/tasks/beats.ts'
import type { AnnounceEnd } from '../../../src/store/tasks/announceEnd.ts'
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

/** The meta of a stored answer that no blob store has, for a task that is settled. */
export function testMeta(taskId: string, attempt = 1): AnswerMeta {
  const image = { mimeType: 'image/png', bytes: 3, sha256: 'ab', width: 1, height: 1 } as const
  return { version: 1, taskId, attempt, image, native: { response: {}, imagePath: [] } }
}

/** Makes the calls of a task belong to a process that is lost. */
export async function loseWorker(pool: Pool, taskId: string): Promise<void> {
  await pool.query(`update attempt set process_id = 'lost' where task_id = $1`, [taskId])
}

/** Moves the end of each attempt of a task a minute back, so that the wait before the next one is over. */
export async function letBackoffPass(pool: Pool, taskId: string): Promise<void> {
  await pool.query(
    `update attempt set closed_at = closed_at - interval '1 minute' where task_id = $1`,
    [taskId],
  )
}

/** Counts the open attempts of a task. */
export async function countOpenAttempts(pool: Pool, taskId: string): Promise<number | null> {
  const { rowCount } = await pool.query(
    'select from attempt where task_id = $1 and closed_at is null',
    [taskId],
  )
  return rowCount
}

/**
 * Inserts an open attempt of the process `testProcessId`, as the transaction of `client` that opens a call does.
 * Returns its answer id.
 */
export async function insertAttempt(
  client: PoolClient,
  taskId: string,
  n: number,
): Promise<string> {
  const answerId = `${taskId}-answer-${n}`
  await client.query(
    `insert into attempt
       (task_id, n, channel, model, answer_id, upstream_key, lease_until, process_id, via)
     values ($1, $2, 'b-main', 'familyb-image-2-vip', $3, 'key', now() + interval '1 minute', $4,
       'workflow')`,
    [taskId, n, answerId, testProcessId],
  )
  return answerId
}

/** A process whose beats always succeed. */
export const alwaysBeating: Pick<Beats, 'mayCall'> = { mayCall: () => true }

/** The process of the attempt store that `createTestAttempts` returns. */
export const testProcessId = 'this-process'

/** Creates the attempt store of a worker, without jitter, and inserts the given channels. */
export async function createTestAttempts(
  pool: Pool,
  channels: readonly Channel[] = [testChannel()],
  announceEnd: AnnounceEnd = () => {},
): Promise<AttemptStore> {
  for (const { name } of channels) {
    await pool.query('insert into channel (name) values ($1) on conflict do nothing', [name])
  }
  await pool.query(
    // No test sends the beats of this process, so its last one lies in the future.
    `insert into worker_process (process_id, seen_at) values ($1, now() + interval '1 day')
     on conflict do nothing`,
    [testProcessId],
  )
  return createAttemptStore({
    pool,
    processId: testProcessId,
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
