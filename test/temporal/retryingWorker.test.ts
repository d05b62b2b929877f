import { describe, expect, it } from 'vitest'
import type { RunningWorker } from '../../src/temporal/worker/createWorker.ts'
import { createRetryingWorker } from '../../src/temporal/worker/retryingWorker.ts'
import { until } from '../support/timing.ts'

function fakeWorker() {
  const end = Promise.withResolvers<void>()
  let running = true
  const worker: RunningWorker = {
    done: end.promise,
    isRunning: () => running,
    stop: async () => {
      running = false
      end.resolve()
    },
  }
  return { worker, fail: end.reject }
}

describe('a retrying worker', () => {
  it('runs as soon as Temporal is reachable', async () => {
    const { worker } = fakeWorker()
    const reported: unknown[] = []
    let tries = 0
    const retrying = createRetryingWorker(
      async () => {
        tries += 1
        if (tries === 1) throw new Error('away')
        return worker
      },
      (error) => void reported.push(error),
    )
    expect(retrying.isRunning()).toBe(false)
    await until('the second try', () => (retrying.isRunning() ? true : undefined))
    expect(reported).toEqual([new Error('away')])
    await retrying.stop()
    expect(worker.isRunning()).toBe(false)
  })

  it('stops at once while a connection to Temporal hangs', async () => {
    const { worker } = fakeWorker()
    const frozen = Promise.withResolvers<RunningWorker>()
    const retrying = createRetryingWorker(
      () => frozen.promise,
      () => {},
    )
    await retrying.stop()
    frozen.resolve(worker)
    await retrying.done
    expect(worker.isRunning()).toBe(false)
  })

  it('ends with the error of a worker that fails', async () => {
    const { worker, fail } = fakeWorker()
    const retrying = createRetryingWorker(
      async () => worker,
      () => {},
    )
    await until('the worker', () => (retrying.isRunning() ? true : undefined))
    fail(new Error('the namespace is gone'))
    await expect(retrying.done).rejects.toThrow('the namespace is gone')
  })
})
