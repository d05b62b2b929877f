import { ActivityCancellationDetails, ApplicationFailure } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ProduceImageActivityDeps } from '../../activities/produceImageActivity.ts'
import { createProduceImageActivity } from '../../activities/produceImageActivity.ts'
import type { ProduceResult } from '../../src/tasks/produceImage.ts'
import { loggerOf } from '../../src/temporal/worker/runtime.ts'
import { heartbeatIntervalMs } from '../../workflows/contract.ts'

type Produce = ProduceImageActivityDeps['produceImage']

function activityOver(produceImage: Produce, stopping = new AbortController().signal) {
  const reported: unknown[] = []
  const activity = createProduceImageActivity({
    produceImage,
    stopping,
    onUnexpected: ({ error }) => void reported.push(error),
  })
  const environment = new MockActivityEnvironment({}, { logger: loggerOf(() => {}) })
  const beats: unknown[] = []
  environment.on('heartbeat', (details: unknown) => void beats.push(details))
  const run = () => environment.run(activity, { taskId: 'task_1' }).catch((error: unknown) => error)
  return { environment, run, beats, reported }
}

const succeeded: ProduceResult = { kind: 'succeeded' }

describe('the activity produceImage', () => {
  it.each(['succeeded', 'over'] as const)('returns the good end %s', async (kind) => {
    const { run } = activityOver(async () => ({ kind }))
    expect(await run()).toEqual({ outcome: kind })
  })

  it('throws a wait with its delay, which Temporal retries without a warning', async () => {
    const where = { reason: 'cooldown', channel: 'b-main' } as const
    const wait = { kind: 'wait', delayMs: 61_500.5, ...where } as const
    const { run } = activityOver(async () => wait)
    expect(await run()).toMatchObject({
      type: 'Wait',
      message: 'cooldown (b-main)',
      nonRetryable: false,
      nextRetryDelay: 61_501,
      category: 'BENIGN',
    })
  })

  it('throws a failure as not retryable, with the channel of the last call', async () => {
    const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
    const { run } = activityOver(async ({ onStage }) => {
      onStage?.({ stage: 'calling', channel: 'b-main' })
      onStage?.({ stage: 'calling', channel: 'b-second' })
      return { kind: 'failed', failure }
    })
    const end = await run()
    expect(end).toMatchObject({
      type: 'upstream_error',
      nonRetryable: true,
      details: [{ ...failure, channel: 'b-second' }],
    })
    expect(end instanceof ApplicationFailure && end.stack).toBe('')
  })

  it.each([
    ['upstream_error', { type: 'upstream_error', nonRetryable: true }],
    ['cancelled', { outcome: 'over' }],
  ] as const)('returns the recorded end again when it runs again: %s', async (code, expected) => {
    const end = { code, cause: 'unknown', workPossible: true } as const
    const { run } = activityOver(async () => ({ kind: 'over', end }))
    expect(await run()).toMatchObject(expected)
  })

  it('reports an unexpected error and throws only its kind', async () => {
    const error = Object.assign(new Error('connect to secret.example'), { code: 'ECONNREFUSED' })
    const { run, reported } = activityOver(async () => {
      throw error
    })
    const thrown = await run()
    expect(thrown).toMatchObject({
      type: 'Unexpected',
      message: 'unexpected failure: ECONNREFUSED',
      nonRetryable: false,
    })
    expect(thrown instanceof Error && thrown.cause).toBeUndefined()
    expect(reported).toEqual([error])
  })

  it('aborts the signal when the activity is cancelled', async () => {
    const { environment, run } = activityOver(
      ({ signal }) =>
        new Promise((resolve) => {
          signal?.addEventListener('abort', () => resolve({ kind: 'over' }))
        }),
    )
    const end = run()
    environment.cancel('CANCELLED', new ActivityCancellationDetails({ notFound: true }))
    expect(await end).toEqual({ outcome: 'over' })
  })

  it('starts no further call in a stopping process, and returns the task to Temporal', async () => {
    const stopping = new AbortController()
    const runs: (boolean | undefined)[] = []
    const { run } = activityOver(async ({ signal }) => {
      runs.push(signal?.aborted)
      stopping.abort()
      return { kind: 'wait', delayMs: 100, reason: 'backoff' }
    }, stopping.signal)
    expect(await run()).toMatchObject({ type: 'Wait', nextRetryDelay: 100 })
    expect(runs).toEqual([false])
  })
})

describe('heartbeats of produceImage', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('contain the stage of a long call, and stop when the call ends', async () => {
    const { run, beats } = activityOver(async ({ onStage }) => {
      await vi.advanceTimersByTimeAsync(heartbeatIntervalMs)
      onStage?.({ stage: 'calling', channel: 'b-main' })
      await vi.advanceTimersByTimeAsync(heartbeatIntervalMs)
      onStage?.({ stage: 'storing', channel: 'b-main' })
      await vi.advanceTimersByTimeAsync(heartbeatIntervalMs)
      return succeeded
    })
    await run()
    await vi.advanceTimersByTimeAsync(10 * heartbeatIntervalMs)
    expect(beats).toEqual([
      undefined,
      { stage: 'calling', channel: 'b-main' },
      { stage: 'storing', channel: 'b-main' },
    ])
  })
})
