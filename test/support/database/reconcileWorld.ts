import type { Pool } from 'pg'
import type { BlobStore } from '../../../src/domain/ports/blobStore.ts'
import type { Finding, ReconcileStep } from '../../../src/tasks/reconcile/reconciler.ts'
import { storeAnswer } from '../../../src/tasks/produce/storedAnswer.ts'
import { createMemoryBlobs } from '../blobs/memoryBlobs.ts'
import { quiet } from '../quiet.ts'
import { succeeded } from '../upstream/countedUpstream.ts'
import { useOpened } from '../useOpened.ts'
import { createTestAttempts } from './testAttempts.ts'
import { createTestDatabase } from './testDatabase.ts'
import { createTestProduceImage } from './testProduceImage.ts'

/**
 * Opens the parts of a reconciler on a real database and blobs in memory before the tests of the calling file. An upstream
 * call throws.
 */
export function useReconcileWorld() {
  return useOpened(
    async () => {
      const database = await createTestDatabase()
      const attempts = await createTestAttempts(database.pool)
      const blobs = createMemoryBlobs()
      const callUpstream = () => Promise.reject(new Error('the reconciler called an upstream'))
      const produceImage = createTestProduceImage({ attempts, blobs, callUpstream })
      return { ...database, attempts, blobs, produceImage }
    },
    ({ close }) => close(),
    ['pool', 'attempts', 'blobs', 'produceImage'],
  )
}

/** Runs a step once and returns its findings. */
export async function runStep(step: ReconcileStep): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  await step.run(new AbortController().signal, (finding) => {
    if (finding.count > 0) findings.push(finding)
  })
  return findings
}

/** Sets columns of one task to SQL expressions, for example `now() - interval '1 second'`. */
export async function setTask(
  pool: Pool,
  taskId: string,
  columns: Readonly<Record<string, string>>,
): Promise<void> {
  const assignments = Object.entries(columns).map(([name, sql]) => `${name} = ${sql}`)
  await pool.query(`update task set ${assignments.join(', ')} where task_id = $1`, [taskId])
}

/** The columns of a task that the reconciler writes. */
export type TaskRow = {
  readonly status: string
  readonly failureCode: string | null
  readonly failureCause: string | null
  readonly workPossible: boolean | null
  readonly started: boolean
  readonly checks: number
  /** Seconds until the next check. */
  readonly nextCheck: number
}

/** Returns what the reconciler writes about a task, or `undefined` when the task does not exist. */
export async function taskRow(pool: Pool, taskId: string): Promise<TaskRow | undefined> {
  const { rows } = await pool.query<TaskRow>(
    `select status, failure_code as "failureCode", failure_cause as "failureCause",
       work_possible as "workPossible", started_at is not null as started, checks,
       extract(epoch from next_check_at - now())::float8 as "nextCheck"
     from task where task_id = $1`,
    [taskId],
  )
  return rows[0]
}

/** Ends the leases of all attempts of a task. */
export async function endLease(pool: Pool, taskId: string): Promise<void> {
  await pool.query(
    `update attempt set lease_until = now() - interval '1 second' where task_id = $1`,
    [taskId],
  )
}

/** Stores an answer as a worker does, without settling it. Its image is a square of 16 pixels. */
export async function storeTestAnswer(
  blobs: BlobStore,
  given: { readonly taskId: string; readonly n: number; readonly answerId: string },
): Promise<void> {
  const { taskId, n: attempt, answerId } = given
  const answer = { taskId, attempt, answerId, hardEndMs: 10_000, outcome: succeeded() }
  await storeAnswer({ blobs, log: quiet.log }, answer)
}
