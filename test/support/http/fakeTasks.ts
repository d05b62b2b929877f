import { expect } from 'vitest'
import type { RequestFailure, TaskFailure } from '../../../src/domain/failure.ts'
import type { JsonObject } from '../../../src/domain/json.ts'
import type { BlobStore } from '../../../src/domain/ports/blobStore.ts'
import { fail, succeed } from '../../../src/domain/result.ts'
import { canonicalRequest } from '../../../src/domain/tasks/imageRequest.ts'
import type { RunStage, TaskView } from '../../../src/domain/tasks/task.ts'
import { isEventDue, taskEventId } from '../../../src/domain/tasks/taskEvents.ts'
import type { NativeResponse } from '../../../src/domain/upstream/nativeResponse.ts'
import { answerImageKey } from '../../../src/domain/upstream/answerMeta.ts'
import type { AcceptInput } from '../../../src/tasks/acceptTask.ts'
import type { TaskService } from '../../../src/tasks/taskService.ts'
import { familyBResponse } from '../../../src/upstream/familyB.ts'
import { streamOf } from '../byteStreams.ts'
import { redPixelPng } from '../images.ts'

/**
 * A task service that keeps its tasks in memory and never runs them. Only for tests of HTTP behaviour;
 * tests of tasks use the real stack.
 */
export type FakeTasks = {
  readonly service: TaskService
  readonly readTaskOfImage: (taskId: string) => Promise<TaskView | undefined>
  readonly accepted: AcceptInput[]
  readonly cancelled: string[]
  readonly openUploads: Set<string>
  /** When set, `accept` returns this failure. */
  refuseNext: RequestFailure | undefined
  /** When set, `accept` runs this first. */
  beforeAccept: (() => Promise<void>) | undefined
  /** When true, `accept` throws. */
  breakNext: boolean
  runStage: RunStage | undefined
  rejection: JsonObject | undefined
  readonly change: (taskId: string, changed: Partial<TaskView>) => void
  readonly succeed: (taskId: string, native?: NativeResponse) => Promise<void>
  readonly fail: (taskId: string, failure: TaskFailure) => Promise<void>
  /** Removes a task, as a crash of PostgreSQL can. */
  readonly loseTask: (taskId: string) => void
  /** Removes the native response of a task. */
  readonly loseNative: (taskId: string) => void
  /** Returns how many callers wait for the end of a task. */
  readonly waitersOf: (taskId: string) => number
  readonly newestId: () => string
  /** Waits for the next task, and returns its id. */
  readonly nextId: () => Promise<string>
  /** Forgets all idempotency keys. */
  readonly freeKeys: () => void
}

/** The native response that `succeed` stores unless a test gives another. */
export const familyBNative: NativeResponse = {
  response: familyBResponse({ created: 5, size: '1024x1024' }, 0),
  imagePath: ['data', 0, 'b64_json'],
}

/** A native response of family A. */
export const familyANative: NativeResponse = {
  response: {
    candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: '' } }] } }],
    modelVersion: 'familya-3-pro-image',
    responseId: 'r1',
  },
  imagePath: ['candidates', 0, 'content', 'parts', 0, 'inlineData', 'data'],
}

/** The API keys `sk-a` and `sk-b` belong to two accounts. */
export function createFakeTasks(blobs: BlobStore): FakeTasks {
  const tasks = new Map<string, TaskView>()
  const keys = new Map<string, { readonly taskId: string; readonly request: string }>()
  const woken = new Set<() => void>()
  const waiters: string[] = []
  let count = 0

  const service: TaskService = {
    authenticate: async (secret) =>
      secret === 'sk-a' || secret === 'sk-b' ? { accountId: secret, keyId: secret } : undefined,
    openUpload: async () => {
      const uploadId = `in${(count += 1)}`
      fake.openUploads.add(uploadId)
      return uploadId
    },
    discardUpload: async (uploadId) => {
      fake.openUploads.delete(uploadId)
      await blobs.deletePrefix(uploadId)
    },
    accept: async (input) => {
      await fake.beforeAccept?.()
      if (fake.breakNext) throw new Error('database is gone: secret-of-the-error')
      if (fake.refuseNext !== undefined) return fail(fake.refuseNext)
      const request = [...canonicalRequest(input.request)].join('')
      const key = Buffer.from(input.idempotencyKey ?? []).toString('latin1')
      const known = key === '' ? undefined : keys.get(key)
      if (known !== undefined && known.request !== request) {
        return fail({ tag: 'idempotency_key_reused' })
      }
      const taskId = known?.taskId ?? `task_${String((count += 1)).padStart(32, '0')}`
      if (known === undefined) {
        fake.accepted.push(input)
        tasks.set(taskId, queued(taskId, input))
        if (key !== '') keys.set(key, { taskId, request })
        if (input.uploadId !== undefined) fake.openUploads.delete(input.uploadId)
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
    cancel: async (caller, taskId) => {
      const task = tasks.get(taskId)
      if (task?.accountId !== caller.accountId) return fail({ tag: 'task_not_found' })
      const isCancelled = task.failure?.code === 'cancelled'
      if (task.completedAtMs !== undefined && !isCancelled) {
        return fail({ tag: 'task_not_cancellable', reason: 'succeeded' })
      }
      await fake.fail(taskId, { code: 'cancelled', cause: 'cancelled', workPossible: false })
      return succeed(taskOf(taskId))
    },
    runStage: async () => fake.runStage,
    awaitEnd: async (taskId, signal) => {
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
    },
    awaitEndOfCall: (taskId, signal) => service.awaitEnd(taskId, signal),
    follow: async function* (taskId, signal, lastId) {
      let seenId = lastId
      for (;;) {
        const task = taskOf(taskId)
        const id = taskEventId(task, 20_000)
        if (isEventDue(seenId, id)) yield { id, task }
        seenId = id
        if (task.completedAtMs !== undefined || signal.aborted) return
        await new Promise<void>((resolve) => {
          woken.add(resolve)
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
    },
    cancelLeft: (taskId) => {
      fake.cancelled.push(taskId)
    },
    nativeRejection: async () => fake.rejection,
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

  async function finish(taskId: string, native = familyBNative): Promise<void> {
    const answerId = `an${taskId.slice(5)}`
    const key = answerImageKey(answerId)
    const { bytes, sha256 } = await blobs.put(key, streamOf([redPixelPng]), {})
    change(taskId, {
      status: 'succeeded',
      completedAtMs: 1_700_000_060_000,
      expiresAtMs: 1_700_086_460_000,
      nowMs: 1_700_000_061_000,
      asset: { answerId, mimeType: 'image/png', bytes, sha256 },
      native,
    })
  }

  const fake: FakeTasks = {
    service,
    readTaskOfImage: async (taskId) => tasks.get(taskId),
    accepted: [],
    cancelled: [],
    openUploads: new Set(),
    refuseNext: undefined,
    beforeAccept: undefined,
    breakNext: false,
    runStage: undefined,
    rejection: undefined,
    change,
    succeed: finish,
    fail: async (taskId, failure) => {
      change(taskId, { status: 'failed', completedAtMs: 1_700_000_005_000, failure })
    },
    loseTask: (taskId) => {
      tasks.delete(taskId)
      for (const [key, named] of keys) if (named.taskId === taskId) keys.delete(key)
      wakeAll()
    },
    loseNative: (taskId) => {
      const { native: _lost, ...task } = taskOf(taskId)
      tasks.set(taskId, task)
    },
    waitersOf: (taskId) => waiters.filter((each) => each === taskId).length,
    newestId: () => [...tasks.keys()].at(-1) ?? '',
    nextId: async () => {
      const count = fake.accepted.length
      await expect.poll(() => fake.accepted.length).toBe(count + 1)
      return fake.newestId()
    },
    freeKeys: () => keys.clear(),
  }
  return fake
}

function queued(taskId: string, { caller, request }: AcceptInput): TaskView {
  return {
    taskId,
    accountId: caller.accountId,
    route: request.route,
    model: request.model,
    status: 'queued',
    credits: 7,
    createdAtMs: 1_700_000_000_999,
    nowMs: 1_700_000_001_500,
  }
}
