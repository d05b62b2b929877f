import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { TaskFailure } from '../../../src/domain/failure.ts'
import type { BlobStore } from '../../../src/domain/ports/blobStore.ts'
import { fail, succeed } from '../../../src/domain/result.ts'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import { checkSupported } from '../../../src/domain/tasks/checkSupported.ts'
import type { ImageRequest } from '../../../src/domain/tasks/imageRequest.ts'
import type { Family } from '../../../src/domain/models/models.ts'
import { canonicalRequest } from '../../../src/domain/tasks/imageRequest.ts'
import type { TaskView } from '../../../src/domain/tasks/task.ts'
import { endEventId } from '../../../src/domain/tasks/taskEvents.ts'
import type { NativeResponse } from '../../../src/domain/upstream/nativeResponse.ts'
import { answerImageKey } from '../../../src/domain/upstream/answerMeta.ts'
import type { AcceptInput } from '../../../src/tasks/acceptTask.ts'
import type { TaskService } from '../../../src/tasks/taskService.ts'
import { familyBResponse } from '../../../src/upstream/familyB.ts'
import { redPixelPng } from '../images.ts'

/** What a test may set. */
type Settings = {
  /** When set, `accept` runs this first. */
  beforeAccept: (() => Promise<void>) | undefined
}

/** The native responses that `succeed` stores. The text has letters that some libraries take for the end of a line. */
const natives: Readonly<Record<Family, NativeResponse>> = {
  A: {
    response: {
      candidates: [
        {
          content: {
            parts: [
              { text: 'a\u2028b\u2029c\u0085d' },
              { inlineData: { mimeType: 'image/png', data: '' } },
            ],
          },
        },
      ],
      modelVersion: 'model',
      responseId: 'response',
    },
    imagePath: ['candidates', 0, 'content', 'parts', 1, 'inlineData', 'data'],
  },
  B: {
    response: familyBResponse({ created: 5, size: '1024x1024' }, 0),
    imagePath: ['data', 0, 'b64_json'],
  },
}

/**
 * Creates a task service that keeps its tasks in memory and never runs them. Only for tests of HTTP behaviour; tests of
 * tasks use the real stack. The API keys `sk-a` and `sk-b` belong to two accounts.
 */
export function createFakeTasks(blobs: BlobStore) {
  const settings: Settings = { beforeAccept: undefined }
  const accepted: AcceptInput[] = []
  const cancelled: string[] = []
  const openUploads = new Set<string>()
  const tasks = new Map<string, TaskView>()
  const keys = new Map<string, { readonly taskId: string; readonly request: string }>()
  const woken = new Set<() => void>()
  const waiters: string[] = []
  let count = 0

  const service: TaskService = {
    authenticate: async (secret) =>
      secret === 'sk-a' || secret === 'sk-b' ? { accountId: secret, keyId: secret } : undefined,
    openUpload: async (uploadId) => void openUploads.add(uploadId),
    discardUpload: async (uploadId) => {
      openUploads.delete(uploadId)
      await blobs.deletePrefix(uploadId)
    },
    noteRefusal: () => {},
    answerWithoutTask: async () => undefined,
    accept: async (input) => {
      await settings.beforeAccept?.()
      const checked = checkSupported(createModelTable(), input)
      if (!checked.ok) return checked
      const request = canonicalRequest(checked.value)
      const key = Buffer.from(input.idempotencyKey ?? []).toString('latin1')
      const known = key === '' ? undefined : keys.get(key)
      if (known !== undefined && known.request !== request) {
        return fail({ tag: 'idempotency_key_reused' })
      }
      const taskId = known?.taskId ?? `task_${String((count += 1)).padStart(32, '0')}`
      if (known === undefined) {
        accepted.push(input)
        tasks.set(taskId, queued(taskId, input, checked.value))
        if (key !== '') keys.set(key, { taskId, request })
        if (input.uploadId !== undefined) openUploads.delete(input.uploadId)
      }
      return succeed({
        taskId,
        createdAtMs: 1_700_000_000_999,
        credits: 7,
        replayed: known !== undefined,
      })
    },
    read: async (caller, taskId) => {
      const task = tasks.get(taskId)
      return task?.accountId === caller.accountId
        ? succeed(task)
        : fail({ tag: 'task_not_found' as const })
    },
    cancel: async () => fail({ tag: 'task_not_found' }),
    estimate: async () => fail({ tag: 'too_many_live_tasks', liveTasksLimit: 1 }),
    delete: async () => fail({ tag: 'task_not_found' }),
    runStage: async () => undefined,
    awaitEnd,
    // Only the end of a task is an event here.
    follow: async function* (taskId, signal) {
      const task = await awaitEnd(taskId, signal)
      if (task !== 'missing' && task.completedAtMs !== undefined) yield { id: endEventId, task }
    },
    cancelLeft: (taskId) => {
      cancelled.push(taskId)
    },
  }

  async function awaitEnd(taskId: string, signal: AbortSignal): Promise<TaskView | 'missing'> {
    waiters.push(taskId)
    try {
      for (;;) {
        const task = tasks.get(taskId)
        if (task === undefined) return 'missing'
        if (task.completedAtMs !== undefined || signal.aborted) return task
        await new Promise<void>((resolve) => {
          woken.add(resolve)
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
    } finally {
      waiters.splice(waiters.indexOf(taskId), 1)
    }
  }

  function taskOf(taskId: string): TaskView {
    const task = tasks.get(taskId)
    if (task === undefined) throw new Error('no such task')
    return task
  }

  function change(taskId: string, changed: Partial<TaskView>): void {
    tasks.set(taskId, { ...taskOf(taskId), ...changed })
    wakeAll()
  }

  function wakeAll(): void {
    for (const wake of woken) wake()
    woken.clear()
  }

  async function end(taskId: string, failure: TaskFailure): Promise<void> {
    change(taskId, { status: 'failed', completedAtMs: 1_700_000_005_000, failure })
  }

  async function finish(taskId: string): Promise<void> {
    const answerId = `an${taskId.slice(5)}`
    const key = answerImageKey(answerId)
    await blobs.put([key, redPixelPng])
    const sha256 = createHash('sha256').update(redPixelPng).digest('hex')
    change(taskId, {
      status: 'succeeded',
      completedAtMs: 1_700_000_060_000,
      expiresAtMs: 1_700_086_460_000,
      nowMs: 1_700_000_061_000,
      asset: { answerId, mimeType: 'image/png', bytes: redPixelPng.length, sha256 },
      native: natives[taskOf(taskId).family],
    })
  }

  const newestId = (): string => [...tasks.keys()].at(-1) ?? ''

  return Object.assign(settings, {
    service,
    accepted,
    cancelled,
    openUploads,
    readTaskOfImage: async (taskId: string) => tasks.get(taskId),
    change,
    succeed: finish,
    fail: end,
    /** Removes the native response of a task. */
    loseNative: (taskId: string) => {
      const { native: _lost, ...task } = taskOf(taskId)
      tasks.set(taskId, task)
    },
    /** Returns how many callers wait for the end of a task. */
    waitersOf: (taskId: string) => waiters.filter((each) => each === taskId).length,
    newestId,
    /** Waits for the next task, and returns its id. */
    nextId: async () => {
      const before = accepted.length
      await expect.poll(() => accepted.length).toBe(before + 1)
      return newestId()
    },
  })
}

function queued(taskId: string, { caller }: AcceptInput, request: ImageRequest): TaskView {
  return {
    taskId,
    accountId: caller.accountId,
    route: request.route,
    family: request.family,
    model: request.model,
    status: 'queued',
    credits: 7,
    createdAtMs: 1_700_000_000_999,
    nowMs: 1_700_000_001_500,
  }
}
