import { describe, expect, it } from 'vitest'
import type { RunningWorker } from '../../src/temporal/worker/createWorker.ts'
import { createPatientWorker } from '../../src/temporal/worker/createWorker.ts'
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

describe('a patient worker', () => {
  it('is not running until Temporal is there, then is', async () => {
    const { worker } = fakeWorker()
    const told: unknown[] = []
    let tries = 0
    const patient = createPatientWorker(
      async () => {
        tries += 1
        if (tries === 1) throw new Error('away')
        return worker
      },
      (error) => void told.push(error),
    )
    expect(patient.isRunning()).toBe(false)
    await until('the second try', () => (patient.isRunning() ? true : undefined))
    expect(told).toEqual([new Error('away')])
    await patient.stop()
    expect(worker.isRunning()).toBe(false)
  })

  it('stops while it waits for Temporal', async () => {
    const patient = createPatientWorker(
      async () => {
        throw new Error('away')
      },
      () => {},
    )
    await patient.stop()
    await expect(patient.done).resolves.toBeUndefined()
  })

  it('stops a worker that connects while it is stopped', async () => {
    const { worker } = fakeWorker()
    const connected = Promise.withResolvers<RunningWorker>()
    const patient = createPatientWorker(
      () => connected.promise,
      () => {},
    )
    const stopped = patient.stop()
    connected.resolve(worker)
    await stopped
    await until('its end', () => (worker.isRunning() ? undefined : true))
    await expect(worker.done).resolves.toBeUndefined()
  })

  it('is stopped at once while Temporal neither takes nor refuses its connection', async () => {
    const { worker } = fakeWorker()
    const frozen = Promise.withResolvers<RunningWorker>()
    const patient = createPatientWorker(
      () => frozen.promise,
      () => {},
    )
    await patient.stop()
    await expect(patient.done).resolves.toBeUndefined()
    frozen.resolve(worker)
    await until('the end of the late worker', () => (worker.isRunning() ? undefined : true))
  })

  it('does not mind a connection that fails after the stop', async () => {
    const frozen = Promise.withResolvers<RunningWorker>()
    const told: unknown[] = []
    const patient = createPatientWorker(
      () => frozen.promise,
      (error) => void told.push(error),
    )
    await patient.stop()
    frozen.reject(new Error('away'))
    await expect(frozen.promise).rejects.toThrow('away')
    expect(told).toEqual([])
  })

  it('ends with the error of a worker that fails', async () => {
    const { worker, fail } = fakeWorker()
    const patient = createPatientWorker(
      async () => worker,
      () => {},
    )
    await until('the worker', () => (patient.isRunning() ? true : undefined))
    fail(new Error('the namespace is gone'))
    await expect(patient.done).rejects.toThrow('the namespace is gone')
  })
})
