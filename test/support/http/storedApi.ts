import type { Pool } from 'pg'
import { onTestFinished } from 'vitest'
import { createFileBlobStore } from '../../../src/blobs/fileBlobStore.ts'
import { convertBlob } from '../../../src/bytes/convertImage.ts'
import type { Caller } from '../../../src/domain/accounts/account.ts'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import { createAccountReads } from '../../../src/store/accountReads.ts'
import { readTaskOfImage } from '../../../src/store/tasks/readTask.ts'
import { isUploadKept } from '../../../src/store/uploads.ts'
import { createTaskService } from '../../../src/tasks/taskService.ts'
import { createTaskWatches } from '../../../src/tasks/watchTasks.ts'
import { createVariants } from '../../../src/tasks/variants.ts'
import { createTestCaller } from '../database/testAccept.ts'
import { testChannel } from '../database/testAttempts.ts'
import { issueTestKey } from '../service/testAccount.ts'
import { tempFolder } from '../tempFolder.ts'
import { startTestApi } from './testApi.ts'

const pepper = { id: 'test', secret: 'pepper-of-the-tests-0123456789' }

/**
 * Starts an API on PostgreSQL and on files, without a worker, until the calling test ends. It has one account, which may
 * do whatever `changed` does not take from it.
 */
export async function openStoredApi(pool: Pool, changed: Partial<Caller> = {}) {
  const folder = tempFolder()
  const blobs = await createFileBlobStore(folder)
  await blobs.storeId()
  const account = await createTestCaller(pool, 10_000)
  const { keyId } = await issueTestKey(pool, account.accountId, pepper)
  const caller: Caller = { accountId: account.accountId, keyId, ...changed }
  const watches = createTaskWatches({ pool, hear: () => {}, onError: () => {} })
  const service = createTaskService({
    pool,
    blobs,
    watches,
    peppers: [pepper],
    models: createModelTable(),
    channels: (['A', 'B'] as const).map((family) =>
      testChannel({ name: `channel-${family}`, family }),
    ),
    taskDeadlineMs: 600_000,
    cancelTask: () => Promise.reject(new Error('nothing is cancelled')),
    endRun: () => {},
    runStage: async () => undefined,
    onAccepted: () => {},
  })
  const api = await startTestApi(
    { syncDeadlineMs: 50 },
    {
      blobs,
      variants: createVariants({
        blobs,
        isUploadKept: (uploadId) => isUploadKept(pool, uploadId),
        convert: convertBlob,
      }),
      tasks: { ...service, authenticate: async () => caller },
      reads: createAccountReads(pool),
      readTaskOfImage: (taskId) => readTaskOfImage(pool, taskId),
    },
  )
  onTestFinished(async () => {
    await api.close()
    await watches.close()
  })
  return { ...api, folder, blobs, caller, name: account.name, service }
}
