import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAdminApp } from '../../src/admin/adminApp.ts'
import { createS3BlobStore } from '../../src/blobs/s3BlobStore.ts'
import { readConfig } from '../../src/config/environment.ts'
import { createServer } from '../../src/http/server/server.ts'
import { requestBody } from '../../src/upstream/requestBody.ts'
import { createOperatorParts } from '../../src/wiring/operatorParts.ts'
import { fakeObjectStore } from '../support/blobs/fakeObjectStore.ts'
import { collect } from '../support/byteStreams.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { taskRecordResponse } from '../support/clients/responses.ts'
import { insertEndedTasks } from '../support/database/insertEndedTasks.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { startTestApi } from '../support/http/testApi.ts'
import { redPixelPng } from '../support/images.ts'
import { portOf } from '../support/upstream/testServers.ts'

// An object that has a checksum, as all that Darkroom stores, fails when its connection ends, also if nobody reads it.

/**
 * An object store that says that an object has `bytes` bytes, sends a few of them, and then nothing more. It is asked
 * when `asked` resolves, answers once `answer` was called, and its connection is ended by `end`, or by us: `isClosed`.
 */
async function openStalledStore(bytes: number) {
  const asked = Promise.withResolvers<ServerResponse>()
  const answering = Promise.withResolvers<void>()
  let isClosed = false
  const { client } = await fakeObjectStore((_request, response) => {
    response.once('close', () => (isClosed = true))
    asked.resolve(response)
    const headers = { 'content-length': bytes, 'x-amz-checksum-crc32': 'AAAAAA==' }
    void answering.promise.then(() => response.writeHead(200, headers).write(Buffer.alloc(8)))
  })
  return {
    blobs: createS3BlobStore({ client, bucket: 'bucket', namePrefix: '' }),
    asked: asked.promise,
    answer: () => answering.resolve(),
    end: async () => (await asked.promise).destroy(),
    isClosed: () => isClosed,
  }
}

/** Returns the errors of this process that nobody hears from now on. */
function unheardErrors(): readonly unknown[] {
  const errors: unknown[] = []
  const hear = (error: unknown) => void errors.push(error)
  process.on('uncaughtException', hear)
  onTestFinished(() => void process.off('uncaughtException', hear))
  return errors
}

it('an object that nobody reads may fail, which ends no process', async () => {
  const errors = unheardErrors()
  const { blobs, answer, end } = await openStalledStore(100)
  answer()
  const blob = await blobs.read('an1/image')
  await end()
  await sleep(100)
  expect(errors).toEqual([])
  blob?.close()
})

describe('an object is let go', () => {
  const bytes = redPixelPng.length

  /** An API whose images are in that store, and a request of a client that may leave. */
  async function asking(what: 'result' | 'asset', storedBytes = bytes) {
    const store = await openStalledStore(storedBytes)
    // Only what reads the image may meet the store.
    const blobs = { ...store.blobs, put: async () => {} }
    const api = await startTestApi({}, { blobs })
    onTestFinished(() => api.close())
    await api.postJson('/v1/images/tasks', generateBody())
    const taskId = api.tasks.newestId()
    await api.tasks.succeed(taskId)
    const task = taskRecordResponse.parse(await (await api.send(`/v1/tasks/${taskId}`)).json())
    const { pathname, search } = new URL(task.output?.assets[0]?.url ?? '')
    const leaving = new AbortController()
    const path = what === 'asset' ? pathname + search : `/v1/tasks/${taskId}/result`
    const answer = api.send(path, { signal: leaving.signal })
    const left = () => expect.poll(() => api.observed.at(-1)?.status).toBe(499)
    return { store, answer, leave: () => leaving.abort(), left }
  }

  it.each(['result', 'asset'] as const)(
    'when the client of the %s left while it was opened',
    async (what) => {
      const { store, answer, leave, left } = await asking(what)
      await store.asked
      leave()
      await expect(answer).rejects.toThrow('aborted')
      await left()
      store.answer()
      await expect.poll(store.isClosed).toBe(true)
    },
  )

  it.each(['result', 'asset'] as const)(
    'when the client of the %s leaves while the store stalls',
    async (what) => {
      const { store, answer, leave } = await asking(what)
      store.answer()
      await (await answer).body?.getReader().read()
      leave()
      await expect.poll(store.isClosed).toBe(true)
    },
  )

  it.each(['result', 'asset'] as const)(
    'when it has another length than the task of the %s says, which is a 500',
    async (what) => {
      const { store, answer } = await asking(what, bytes - 1)
      store.answer()
      expect((await answer).status).toBe(500)
      await expect.poll(store.isClosed).toBe(true)
    },
  )

  it('when it has another length than the input image of a call', async () => {
    const { blobs, answer, isClosed } = await openStalledStore(bytes + 1)
    answer()
    const input = { blobKey: 'an1/image', mimeType: 'image/png', bytes, sha256: '' } as const
    const body = requestBody('image/png', [{ kind: 'raw', input }], blobs)
    await expect(collect(body.open())).rejects.toThrow('not in the blob store')
    await expect.poll(isClosed).toBe(true)
  })
  describe('by the admin API', () => {
    const database = useTestDatabase()

    it.each([
      ['HEAD', 100, 200],
      ['GET', 100, 500],
    ])('when it is asked with %s and has %i bytes', async (method, storedBytes, status) => {
      const { pool } = database
      const { blobs, answer, isClosed } = await openStalledStore(storedBytes)
      answer()
      const { accountId } = await insertTask(pool)
      const [taskId] = await insertEndedTasks(pool, { accountId, count: 1 })
      await pool.query(
        `update task set answer_id = replace(task_id, 'task_', 'an') where answer_id is not null`,
      )
      const parts = createOperatorParts(readConfig({}), {})
      const app = createAdminApp({
        keys: [{ id: 'test', secret: 'secret', role: 'operator' }],
        operatorOf: () => ({ ...parts, pool, openBlobs: async () => blobs, actor: 'admin:test' }),
        host: '127.0.0.1',
        allowedHosts: [],
        ready: async () => true,
      })
      const server = createServer(app)
      onTestFinished(() => void server.close())
      const url = `http://127.0.0.1:${await portOf(server)}/admin/v1/tasks/${taskId}/image`
      const headers = { Authorization: 'Bearer secret', Connection: 'close' }
      expect((await fetch(url, { method, headers })).status).toBe(status)
      await expect.poll(isClosed).toBe(true)
    })
  })
})
