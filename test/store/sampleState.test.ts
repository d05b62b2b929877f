import { describe, expect, it } from 'vitest'
import { createSampleState } from '../../src/store/sampleState.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

/** Inserts ended tasks: of ten, one has failed, one has its image, the images of the others have expired. */
async function insertEnded(count: number): Promise<void> {
  await database.pool.query(`insert into account (account_id, name) values ('acct_ended', 'ended')`)
  await database.pool.query(
    `insert into task (task_id, account_id, key_id, route, family, model, action, fingerprint, credits,
       status, deadline_at, hard_end_at, completed_at, expires_at, purge_at, failure_code, answer_id,
       asset_bytes)
     select 'task_' || lpad(i::text, 32, '0'), 'acct_ended', 'key_x', 'images.tasks', 'B',
       'familyb-image-2-vip', 'generate', '\\x00', 1, case when failed then 'failed' else 'succeeded' end,
       now(), now(), now(), case when failed then null else now() + (2 - i % 10) * interval '20 hours' end,
       now() + interval '8 days', case when failed then 'upstream_error' end,
       case when not failed then 'an' || i end, case when not failed then 100 end
     from (select i, i % 10 = 0 as failed from generate_series(1, $1) i) ended`,
    [count],
  )
}
describe('a sample of the state', () => {
  it('counts live tasks, succeeded tasks with an image, and failed tasks', async () => {
    await insertEnded(20)
    const { taskId } = await insertTask(database.pool)
    await database.pool.query(
      `insert into upload (upload_id, kind, task_id, bytes, sweep_after)
       values ('in-a', 'input', $1, 5000, 'infinity'), ('in-b', 'input', null, null, 'infinity')`,
      [taskId],
    )
    const { tasks, holdsOpen, blobBytes, creditsHeld } = await createSampleState(database.pool)()
    expect(Object.fromEntries(tasks.map(({ status, count }) => [status, count]))).toEqual({
      queued: 1,
      succeeded: 2,
      failed: 2,
    })
    expect({ holdsOpen, blobBytes, creditsHeld }).toEqual({
      holdsOpen: 1,
      blobBytes: 5_200,
      creditsHeld: 10,
    })
  })
})
