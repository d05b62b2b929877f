import type { Pool } from 'pg'
import { newUploadId } from '../../../src/domain/ids.ts'
import type { AnswerMeta } from '../../../src/domain/upstream/answerMeta.ts'
import type { Channel } from '../../../src/domain/upstream/channel.ts'
import type { AttemptStore } from '../../../src/store/attempts/attemptStore.ts'
import { createAttemptStore } from '../../../src/store/attempts/attemptStore.ts'
import type { EndedRow } from '../../../src/store/tasks/afterEnd.ts'
import type {
  OpenedAttempt,
  OpenInput,
  OpenResult,
} from '../../../src/store/attempts/openAttempt.ts'

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
export function testMeta(
  taskId: string,
  attempt = 1,
  sides: Pick<AnswerMeta['image'], 'width' | 'height'> = {},
): AnswerMeta {
  const image = { mimeType: 'image/png', bytes: 3, sha256: 'ab', ...sides } as const
  return { version: 1, taskId, attempt, image, native: { response: {}, imagePath: [] } }
}

/** Makes the calls of a task belong to a process that is silent. */
export async function loseWorker(pool: Pool, taskId: string): Promise<void> {
  await pool.query(`update attempt set process_id = 'lost' where task_id = $1`, [taskId])
}

/** Closes the first call of a task as lost, as the reconciler does when its process is silent. */
export async function loseCall(pool: Pool, attempts: AttemptStore, taskId: string): Promise<void> {
  await loseWorker(pool, taskId)
  const isLost = await attempts.loseAttempt({ taskId, n: 1, witness: testProcessId })
  if (!isLost) throw new Error('the call is not lost')
}

/** Counts the open attempts of a task. */
export async function countOpenAttempts(pool: Pool, taskId: string): Promise<number | null> {
  const { rowCount } = await pool.query(
    'select from attempt where task_id = $1 and closed_at is null',
    [taskId],
  )
  return rowCount
}

/** Asks for the next attempt of a task, on the given channel and for the process `testProcessId`. */
export async function askToOpen(
  attempts: AttemptStore,
  taskId: string,
  given: Partial<OpenInput> = {},
): Promise<OpenResult> {
  const found = await attempts.readTaskFacts(taskId)
  return attempts.openAttempt({
    taskId,
    n: found.kind === 'live' ? found.facts.attempts + 1 : 1,
    answerId: newUploadId('answer'),
    processId: testProcessId,
    via: 'workflow',
    channel: testChannel(),
    ...given,
  })
}

/** Opens the next attempt of a task. Throws when it may not be opened. */
export async function openAttempt(
  attempts: AttemptStore,
  taskId: string,
  given: Partial<OpenInput> = {},
): Promise<OpenedAttempt> {
  const opened = await askToOpen(attempts, taskId, given)
  if (opened.kind !== 'opened') throw new Error(`not opened: ${opened.kind}`)
  return opened.attempt
}

/** The process of the attempt store that `createTestAttempts` returns. */
export const testProcessId = 'this-process'

/**
 * Creates the attempt store of a worker, and inserts the given channels. The process `testProcessId` counts as present
 * for an hour.
 */
export async function createTestAttempts(
  pool: Pool,
  channels: readonly Channel[] = [testChannel()],
  onEnd: (ended: EndedRow) => void = () => {},
): Promise<AttemptStore> {
  for (const { name } of channels) {
    await pool.query('insert into channel (name) values ($1) on conflict do nothing', [name])
  }
  await pool.query(
    // No test sends the beats of this process, so its last one lies in the future.
    `insert into worker_process (process_id, seen_at, steady_since)
     values ($1, now() + interval '1 day', now() - interval '1 minute')
     on conflict do nothing`,
    [testProcessId],
  )
  return createAttemptStore({
    pool,
    onEnd,
    random: () => 0,
    channels,
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
