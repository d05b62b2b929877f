import { expect, it } from 'vitest'
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

it('a worker runs as soon as Temporal is reachable, and ends with its error when it fails', async () => {
  const { worker, fail } = fakeWorker()
  const reported: unknown[] = []
  const tries = [() => Promise.reject(new Error('away')), async () => worker]
  const retrying = createRetryingWorker(
    async () => (await tries.shift()?.()) ?? worker,
    (error) => void reported.push(error),
  )
  expect(retrying.isRunning()).toBe(false)
  await until('the second try', () => (retrying.isRunning() ? true : undefined))
  expect(reported).toEqual([new Error('away')])
  fail(new Error('the namespace is gone'))
  await expect(retrying.done).rejects.toThrow('the namespace is gone')
})

it('a worker stops at once while a connection to Temporal hangs', async () => {
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
