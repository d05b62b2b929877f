import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { newUploadId } from '../../../src/domain/ids.ts'
import type { BlobStore } from '../../../src/domain/ports/blobStore.ts'
import {
  discardUpload,
  forgetUploads,
  openUpload,
  isUploadKept,
  takeUploads,
} from '../../../src/store/uploads.ts'
import type { ReconcileStep } from '../../../src/tasks/reconcile/reconciler.ts'
import { createSweepSteps } from '../../../src/tasks/reconcile/sweepSteps.ts'
import { insertTask } from '../../support/database/insertTask.ts'
import { runStep, setTask, useReconcileWorld } from '../../support/database/reconcileWorld.ts'

const world = useReconcileWorld()
beforeEach(() => world.pool.query('delete from task; delete from upload'))

async function upload(sweepAfter: string): Promise<string> {
  const uploadId = newUploadId('input')
  await world.pool.query(
    `insert into upload (upload_id, kind, sweep_after) values ($1, 'input', ${sweepAfter})`,
    [uploadId],
  )
  await world.blobs.put([`${uploadId}/0`, Buffer.from('bytes')])
  return uploadId
}

async function uploadIds(): Promise<readonly string[]> {
  const { rows } = await world.pool.query<{ id: string }>('select upload_id as id from upload')
  return rows.map(({ id }) => id)
}

function stepOf(
  name: ReconcileStep['name'],
  blobs: Pick<BlobStore, 'deletePrefix'> = world.blobs,
): ReconcileStep {
  const step = createSweepSteps({ pool: world.pool, blobs }).find((one) => one.name === name)
  if (step === undefined) throw new Error('no such step')
  return step
}

const sweep = (blobs: Pick<BlobStore, 'deletePrefix'> = world.blobs) =>
  runStep(stepOf('sweep', blobs))

describe('the sweep', () => {
  it('comes to an upload at once when it is discarded', async () => {
    const uploadId = newUploadId('input')
    await openUpload(world.pool, uploadId, 60_000)
    await sweep()
    expect(await uploadIds()).toEqual([uploadId])
    await discardUpload(world.pool, uploadId)
    expect(await sweep()).toEqual([{ found: 'swept', count: 1 }])
  })

  it('keeps the row of an upload that could not be deleted, and tries again', async () => {
    const stuck = await upload('now()')
    const other = await upload('now()')
    const deletePrefix = async (prefix: string) => {
      if (prefix === stuck) throw new Error('the blob store is away')
      await world.blobs.deletePrefix(prefix)
    }
    await expect(sweep({ deletePrefix })).rejects.toThrow('the blob store is away')
    expect(await uploadIds()).toEqual([stuck])
    expect(await world.blobs.read(`${other}/0`)).toBeUndefined()
    expect(await sweep()).toEqual([])
    await world.pool.query(`update upload set next_try_at = next_try_at - interval '5 minutes'`)
    expect(await sweep()).toEqual([{ found: 'swept', count: 1 }])
    expect(await uploadIds()).toEqual([])
  })

  it('forgets all uploads of a batch at once', async () => {
    for (let n = 0; n < 5; n += 1) await upload('now()')
    const query = vi.spyOn(world.pool, 'query')
    onTestFinished(() => query.mockRestore())
    expect(await sweep()).toEqual([{ found: 'swept', count: 5 }])
    const forgets = query.mock.calls.filter(([sent]) => JSON.stringify(sent).includes('"forget-'))
    expect(forgets).toHaveLength(2)
  })

  it('tells who adds a blob to an upload whether the sweep still comes for it [asset-8]', async () => {
    const id = await upload('now()')
    const seen = [await isUploadKept(world.pool, id)]
    const taken = await takeUploads(world.pool, 10, 300_000)
    seen.push(await isUploadKept(world.pool, id))
    await forgetUploads(world.pool, taken)
    seen.push(await isUploadKept(world.pool, id))
    expect(seen).toEqual([true, false, false])
  })

  it('keeps the row of an answer that was stored while its upload was being swept', async () => {
    const late = await upload('now()')
    const taken = await takeUploads(world.pool, 10, 300_000)
    await world.pool.query('update upload set sweep_after = now(), next_try_at = null')
    await forgetUploads(world.pool, taken)
    expect(await uploadIds()).toEqual([late])
    expect(await sweep()).toEqual([{ found: 'swept', count: 1 }])
  })
})

describe('what is kept of failed tasks for a retry', () => {
  const failure = { code: 'upstream_error', cause: 'unknown', workPossible: false } as const
  const step = () => stepOf('excess')

  /** A failed task with an input of so many bytes, which can be retried for so many hours. */
  async function failed(name: string, bytes: number, hours: number, given = {}): Promise<string> {
    const { taskId } = await insertTask(world.pool, given)
    await world.pool.query(
      `insert into upload (upload_id, kind, task_id, bytes, sweep_after)
       values ($1, 'input', $2, $3, 'infinity')`,
      [name, taskId, bytes],
    )
    await world.attempts.failTask(taskId, failure, 0)
    const until = `now() + interval '${hours} hours'`
    await setTask(world.pool, taskId, { retry_until: until })
    return taskId
  }

  async function hasRequest(taskId: string): Promise<unknown> {
    const { rows } = await world.pool.query(
      'select request is not null as "hasRequest" from task where task_id = $1',
      [taskId],
    )
    return rows[0]?.hasRequest
  }

  it('is a gibibyte of prompts and inputs per account, the oldest go first', async () => {
    const half = 512 * 1024 * 1024
    const many = { accountId: 'acct_many' }
    const oldest = await failed('inoldest', 5_000, 1, many)
    const older = await failed('inolder', half - 2_000_000, 2, many)
    await failed('innewer', half - 2_000_000, 3, { ...many, prompt: 'p'.repeat(3_999_000) })
    await failed('inother', half, 1)
    const { taskId: live } = await insertTask(world.pool, many)
    await world.pool.query(
      `insert into upload (upload_id, kind, task_id, bytes, sweep_after)
       values ('inlive', 'input', $1, $2, 'infinity')`,
      [live, 3 * half],
    )
    expect(await runStep(step())).toEqual([{ found: 'excess', count: 1 }])
    expect(await runStep(step())).toEqual([])
    const { rows } = await world.pool.query<{ uploadId: string }>(
      `select upload_id as "uploadId" from upload where bytes > 0 and sweep_after <= now()`,
    )
    expect(rows).toEqual([{ uploadId: 'inoldest' }])
    expect(await sweep()).toContainEqual({ found: 'forgotten', count: 1 })
    expect([await hasRequest(oldest), await hasRequest(older)]).toEqual([false, true])
    await world.pool.query('delete from upload')
  })

  it('is deleted when its time is over, the prompt too', async () => {
    const taskId = await failed('indue', 1, 1)
    expect(await sweep()).toEqual([])
    expect(await hasRequest(taskId)).toBe(true)
    await setTask(world.pool, taskId, { retry_until: 'now()' })
    expect(await sweep()).toEqual([{ found: 'forgotten', count: 1 }])
    expect(await sweep()).toEqual([])
    expect(await hasRequest(taskId)).toBe(false)
    await world.pool.query('delete from upload')
  })
})
