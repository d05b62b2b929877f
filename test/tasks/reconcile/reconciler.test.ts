import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createReconciler } from '../../../src/tasks/reconcile/reconciler.ts'
import { quiet } from '../../support/quiet.ts'
import { until } from '../../support/timing.ts'

it('the steps of a reconciler go on when one of them hangs and another throws, until it stops', async () => {
  const errors: unknown[] = []
  let runs = 0
  const log = { ...quiet.log, warn: (_event: string, fields: object = {}) => errors.push(fields) }
  const reconciler = createReconciler({ ...quiet, log }, [
    { name: 'check', everyMs: 20, run: () => new Promise(() => {}) },
    { name: 'sweep', everyMs: 20, run: () => Promise.reject(new Error('away')) },
    { name: 'start', everyMs: 20, run: async () => void (runs += 1) },
  ])
  reconciler.start()
  await until('five runs', () => (runs >= 5 && errors.length >= 2 ? true : undefined))
  expect(errors[0]).toEqual({ step: 'sweep', error: new Error('away') })
  await reconciler.stop()
  const seen = runs
  await sleep(100)
  expect(runs).toBe(seen)
}, 30_000)
