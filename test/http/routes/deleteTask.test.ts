import { readdir } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { BlobStore } from '../../../src/domain/ports/blobStore.ts'
import type { UpstreamCaller } from '../../../src/domain/upstream/upstreamCall.ts'
import { withTransaction } from '../../../src/store/connection/transaction.ts'
import { retryTask } from '../../../src/store/tasks/retryTask.ts'
import { newTaskId } from '../../../src/domain/ids.ts'
import type { AttemptStore } from '../../../src/store/attempts/attemptStore.ts'
import { familyBResponse } from '../../../src/upstream/familyB.ts'
import { createSweepSteps } from '../../../src/tasks/reconcile/sweepSteps.ts'
import { readAnswerMeta } from '../../../src/tasks/produce/storedAnswer.ts'
import { editBody } from '../../support/clients/requestBodies.ts'
import { entriesOf } from '../../support/database/money.ts'
import { createTestAttempts, testChannel } from '../../support/database/testAttempts.ts'
import { useTestDatabase } from '../../support/database/testDatabase.ts'
import { createTestProduceImage } from '../../support/database/testProduceImage.ts'
import { whileUncommitted } from '../../support/database/whileUncommitted.ts'
import { openStoredApi } from '../../support/http/storedApi.ts'
import { paddedPng } from '../../support/images.ts'
import { heldInTables } from '../../support/telemetry/databaseSearch.ts'
import { succeeded } from '../../support/upstream/countedUpstream.ts'

// Each task is an edit, on PostgreSQL and files. The test is its worker, so that it can stand still between any two steps.

const database = useTestDatabase()
let attempts: AttemptStore
beforeAll(async () => void (attempts = await createTestAttempts(database.pool)))

type Api = Awaited<ReturnType<typeof openApi>>

async function openApi() {
  const api = await openStoredApi(database.pool)
  const own = {
    ...api,
    remove: (taskId: string) => api.send(`/v1/tasks/${taskId}`, { method: 'DELETE' }),
  }
  const json = async (answer: Response): Promise<Record<string, unknown>> =>
    Object(await answer.json())
  return {
    ...own,
    json,
    submit: async (given: object = {}, headers: Record<string, string> = {}) => {
      const answer = await api.postJson('/v1/images/tasks', editBody({ ...given }), headers)
      return String((await json(answer))['task_id'])
    },
    record: async (taskId: string) => json(await api.send(`/v1/tasks/${taskId}`)),
    /** The blobs in the store, without its own id. */
    files: async () =>
      (await readdir(api.folder, { recursive: true })).filter((name) => name !== '.store-id'),
    uploads: async (taskId: string) =>
      (await database.pool.query('select from upload where task_id = $1', [taskId])).rowCount,
  }
}

const image = paddedPng(8 * 1024 * 1024, 7)
const text = () => `canary${randomBytes(12).toString('hex')}`

/** Answers with a large image, and with a text beside it. */
function answerWith(size: string): UpstreamCaller {
  const { native, ...outcome } = succeeded()
  const response = familyBResponse({ created: 5, size }, 0)
  return async () => ({
    ...outcome,
    image: { ...outcome.image, bytes: image },
    native: { ...native, response },
  })
}

/** Makes a task of an API as a worker does. */
async function make(
  { blobs }: { readonly blobs: BlobStore },
  taskId: string,
  callUpstream: UpstreamCaller = answerWith('x'),
): Promise<void> {
  const channels = [testChannel()]
  await createTestProduceImage({ attempts, blobs, callUpstream, channels })({ taskId })
}

/** An API with a task that has its image. */
async function openMade() {
  const api = await openApi()
  const taskId = await api.submit()
  await make(api, taskId)
  return { api, taskId }
}

async function sweep({ blobs }: Api): Promise<void> {
  const step = createSweepSteps({ pool: database.pool, blobs }).find(({ name }) => name === 'sweep')
  await step?.run(new AbortController().signal, () => {})
}

const rejected: UpstreamCaller = async () => ({
  class: 'rejected',
  evidence: { reason: 'content_policy', httpStatus: 400 },
})
const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const

describe('DELETE of an ended task', () => {
  it('leaves no byte and no text of it, and its record, key and money as they were [delete-1, delete-2]', async () => {
    const api = await openApi()
    const key = { 'Idempotency-Key': 'deleted' }
    const canary = { prompt: text(), answer: text() }
    const taskId = await api.submit({ prompt: canary.prompt }, key)
    await make(api, taskId, answerWith(canary.answer))
    const before = await api.record(taskId)
    const url = new URL(Object(before['output']).assets[0].url)
    const asset = `${api.url}${url.pathname}${url.search}`
    const small = `${asset}&width=128&format=webp`
    for (const image of [asset, small]) expect((await fetch(image)).status).toBe(200)
    expect(await heldInTables(database.databaseUrl, canary)).toEqual(['answer'])
    const answer = await api.remove(taskId)
    const { output: _output, result: _result, ...rest } = before
    expect([answer.status, await api.json(answer)]).toEqual([200, { ...rest, status: 'expired' }])
    expect(await api.files()).toEqual([])
    expect(await api.uploads(taskId)).toBe(0)
    expect(await heldInTables(database.databaseUrl, canary)).toEqual([])
    for (const image of [asset, small]) expect((await fetch(image)).status).toBe(404)
    expect((await api.send(`/v1/tasks/${taskId}/result`)).status).toBe(404)
    const again = await api.remove(taskId)
    expect([again.status, await api.json(again)]).toEqual([200, await api.record(taskId)])
    expect((await entriesOf(database.pool, taskId)).map(({ kind }) => kind)).toEqual([
      'hold',
      'settle',
    ])
    expect(await api.submit({ prompt: canary.prompt }, key)).toBe(taskId)
    const events = await api.send(`/v1/tasks/${taskId}/events`)
    expect(await events.text()).toContain('"status":"expired"')
  })

  it('of a failed one takes its prompt and its source images; it stays failed and cannot be retried [delete-1, delete-3]', async () => {
    const api = await openApi()
    const prompt = text()
    const taskId = await api.submit({ prompt })
    await make(api, taskId, rejected)
    expect(await api.files()).not.toEqual([])
    const before = await api.record(taskId)
    expect(before['status']).toBe('failed')
    expect(await heldInTables(database.databaseUrl, { prompt })).toEqual(['prompt'])
    const answer = await api.remove(taskId)
    expect([answer.status, await api.json(answer)]).toEqual([200, before])
    expect([await api.files(), await api.uploads(taskId)]).toEqual([[], 0])
    expect(await heldInTables(database.databaseUrl, { prompt })).toEqual([])
    expect(await retried(taskId)).toEqual({ kind: 'inputs_gone' })
  })

  it('leaves a retry that was made before, with its source images [delete-3]', async () => {
    const api = await openApi()
    const failed = await api.submit()
    await make(api, failed, rejected)
    const retry = await retried(failed)
    expect((await api.remove(failed)).status).toBe(200)
    const { taskId } = { taskId: '', ...retry }
    await make(api, taskId)
    expect(await api.record(taskId)).toMatchObject({ status: 'succeeded' })
  })

  it('lets a download under way finish [delete-4]', async () => {
    const { api, taskId } = await openMade()
    const download = await api.send(`/v1/tasks/${taskId}/result`)
    expect((await api.remove(taskId)).status).toBe(200)
    expect(await api.files()).toEqual([])
    const { data } = Object(await download.json())
    expect(Buffer.from(data[0].b64_json, 'base64').equals(image)).toBe(true)
  })

  it('between the look at the record and that at the image is answered as after it [delete-4]', async () => {
    const { api, taskId } = await openMade()
    const { read } = api.blobs
    vi.spyOn(api.blobs, 'read').mockImplementationOnce(async (key, range) => {
      await api.remove(taskId)
      return read(key, range)
    })
    expect((await api.send(`/v1/tasks/${taskId}/result`)).status).toBe(404)
    expect(api.reported).toEqual([])
  })

  it('takes a variant too that is written after it [delete-1]', async () => {
    const { api, taskId } = await openMade()
    const url = new URL(Object((await api.record(taskId))['output']).assets[0].url)
    const { put } = api.blobs
    vi.spyOn(api.blobs, 'put').mockImplementationOnce(async (...blobs) => {
      expect((await api.remove(taskId)).status).toBe(200)
      await put(...blobs)
    })
    const small = await fetch(`${api.url}${url.pathname}${url.search}&width=128`)
    expect([small.status, await api.files()]).toEqual([404, []])
  })

  it('is the same 16 times at once', async () => {
    const { api, taskId } = await openMade()
    const answers = await Promise.all(Array.from({ length: 16 }, () => api.remove(taskId)))
    expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(200))
    expect([await api.files(), await api.uploads(taskId)]).toEqual([[], 0])
  })

  it('that ends at this moment waits for the end', async () => {
    const api = await openApi()
    const taskId = await api.submit()
    const answer = await whileUncommitted(
      database.pool,
      [
        `update task set status = 'failed', failure_code = 'cancelled', completed_at = now() where task_id = $1`,
        taskId,
      ],
      () => api.remove(taskId),
    )
    expect([answer.status, await api.files()]).toEqual([200, []])
  })
})

function storeIsAway({ blobs }: Api) {
  const away = vi.spyOn(blobs, 'deletePrefix').mockRejectedValue(new Error('the store is away'))
  onTestFinished(() => away.mockRestore())
  return away
}

function retried(taskId: string) {
  const terms = { credits: 0, smallerPrices: [], deadlineMs: 600_000, hardEndMs: 900_000 }
  const retry = { taskId, newTaskId: newTaskId(), termsOf: () => terms }
  return withTransaction(database.pool, (client) => retryTask(client, retry))
}

describe('DELETE is refused', () => {
  it('with 409 for a live task, which goes on [delete-5]', async () => {
    const api = await openApi()
    const taskId = await api.submit()
    const answer = await api.remove(taskId)
    expect(answer.status).toBe(409)
    expect((await api.json(answer))['error']).toMatchObject({ code: 'task_not_finished' })
    await make(api, taskId)
    expect(await api.record(taskId)).toMatchObject({ status: 'succeeded' })
  })

  it('with the same 404 for a task of another account and for an unknown one [delete-5]', async () => {
    const [api, other] = [await openApi(), await openApi()]
    const foreign = await other.submit()
    await make(other, foreign)
    const seen = async (taskId: string) => {
      const answer = await api.remove(taskId)
      return [answer.status, await answer.text()]
    }
    expect(await seen(foreign)).toEqual(await seen(newTaskId()))
    expect((await seen(foreign))[0]).toBe(404)
    expect(await other.record(foreign)).toMatchObject({ status: 'succeeded' })
  })

  it('with a 500 that may be repeated while the store cannot say; nothing is served meanwhile [delete-6]', async () => {
    const { api, taskId } = await openMade()
    const away = storeIsAway(api)
    const answer = await api.remove(taskId)
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([500, null])
    expect(await api.record(taskId)).toMatchObject({ status: 'expired' })
    expect((await api.send(`/v1/tasks/${taskId}/result`)).status).toBe(404)
    const read = 'select native_response as native from task where task_id = $1'
    expect((await database.pool.query(read, [taskId])).rows).toEqual([{ native: null }])
    away.mockRestore()
    expect([(await api.remove(taskId)).status, await api.files()]).toEqual([200, []])
  })

  it('and goes on by itself, where nobody repeats it', async () => {
    const { api, taskId } = await openMade()
    const away = storeIsAway(api)
    expect((await api.remove(taskId)).status).toBe(500)
    away.mockRestore()
    await database.pool.query(`update upload set next_try_at = next_try_at - interval '1 minute'`)
    await sweep(api)
    expect([await api.files(), await api.uploads(taskId)]).toEqual([[], 0])
  })
})

describe('an answer that arrives after the DELETE is swept as it is stored [delete-7]', () => {
  it('from a call of a task that had ended without it', async () => {
    const api = await openApi()
    const taskId = await api.submit()
    await make(api, taskId, async (call) => {
      await database.pool.query('update task set hard_end_at = now() where task_id = $1', [taskId])
      expect(await attempts.failTask(taskId, failure, 1)).toBe('failed')
      expect((await api.remove(taskId)).status).toBe(200)
      return answerWith('late')(call)
    })
    expect(await api.files()).not.toEqual([])
    await sweep(api)
    expect([await api.files(), await api.uploads(taskId)]).toEqual([[], 0])
  })

  it('from a worker that stores again what another one has published, because the reply of the store was lost', async () => {
    const api = await openApi()
    const taskId = await api.submit()
    let isLost = false
    const put: BlobStore['put'] = async (...blobs) => {
      await api.blobs.put(...blobs)
      if (isLost) return
      isLost = true
      const answerId = blobs[0]?.[0].split('/')[0] ?? ''
      const meta = await readAnswerMeta(api.blobs, answerId)
      if (meta === undefined) throw new Error('nothing is stored')
      expect(await attempts.settleTask({ meta, answerId })).toBe(true)
      expect((await api.remove(taskId)).status).toBe(200)
      throw new Error('the reply was lost')
    }
    await make({ blobs: { ...api.blobs, put } }, taskId)
    expect(isLost).toBe(true)
    expect(await api.files()).not.toEqual([])
    await sweep(api)
    expect([await api.files(), await api.uploads(taskId)]).toEqual([[], 0])
    expect(await api.record(taskId)).toMatchObject({ status: 'expired' })
  })
})
