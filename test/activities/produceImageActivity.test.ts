import { ActivityCancellationDetails, ApplicationFailure } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { describe, expect, it, vi } from 'vitest'
import type { ProduceImageActivityDeps } from '../../activities/produceImageActivity.ts'
import { createProduceImageActivity } from '../../activities/produceImageActivity.ts'
import { loggerOf } from '../../src/temporal/worker/runtime.ts'
import { heartbeatIntervalMs } from '../../workflows/contract.ts'

type Produce = ProduceImageActivityDeps['produceImage']

function activityOver(produceImage: Produce, stopping = new AbortController().signal) {
  const reported: unknown[] = []
  const activity = createProduceImageActivity({
    produceImage,
    stopping,
    log: { error: (_event, fields) => reported.push(fields?.error) },
  })
  const environment = new MockActivityEnvironment({}, { logger: loggerOf(() => {}) })
  const beats: unknown[] = []
  environment.on('heartbeat', (details: unknown) => void beats.push(details))
  const run = () =>
    environment
      .run(activity, { taskId: 'task_1', family: 'B' as const, model: 'familyb-image-2-vip' })
      .catch((error: unknown) => error)
  return { environment, run, beats, reported }
}

describe('the activity produceImage', () => {
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
    const channel = 'b-second'
    const { run } = activityOver(async () => ({ kind: 'failed', failure, channel }))
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

  it.each([
    [
      Object.assign(new Error('connect to secret.example'), { code: 'ECONNREFUSED' }),
      'ECONNREFUSED',
    ],
    [new TypeError('the prompt is no text'), 'TypeError'],
  ])('reports an unexpected error and throws only its kind: %s [answer-5]', async (error, kind) => {
    const { run, reported } = activityOver(async () => {
      throw error
    })
    const thrown = await run()
    expect(thrown).toMatchObject({
      type: 'Unexpected',
      message: `unexpected failure: ${kind}`,
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

  it('tells Temporal the stage of a long call by its heartbeats, and stops with the call', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { run, beats } = activityOver(async ({ onStage }) => {
      onStage?.({ stage: 'calling', channel: 'b-main' })
      await vi.advanceTimersByTimeAsync(heartbeatIntervalMs)
      return { kind: 'succeeded' }
    })
    expect(await run()).toEqual({ outcome: 'succeeded' })
    await vi.advanceTimersByTimeAsync(10 * heartbeatIntervalMs)
    vi.useRealTimers()
    expect(beats).toEqual([{ stage: 'calling', channel: 'b-main' }])
  })
})
