import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createReconciler } from '../../../src/tasks/reconcile/reconciler.ts'
import { until } from '../../support/timing.ts'

it('the steps of a reconciler go on when one of them hangs and another throws, until it stops', async () => {
  const errors: unknown[] = []
  let runs = 0
  const reconciler = createReconciler({
    steps: [
      { name: 'check', everyMs: 20, run: () => new Promise(() => {}) },
      {
        name: 'sweep',
        everyMs: 20,
        run: async () => {
          throw new Error('away')
        },
      },
      {
        name: 'start',
        everyMs: 20,
        run: async () => {
          runs += 1
        },
      },
    ],
    onFinding: () => {},
    onStepError: (step, error) => void errors.push([step, error]),
  })
  reconciler.start()
  await until('five runs', () => (runs >= 5 && errors.length >= 2 ? true : undefined))
  expect(errors[0]).toEqual(['sweep', new Error('away')])
  await reconciler.stop()
  const seen = runs
  await sleep(100)
  expect(runs).toBe(seen)
}, 30_000)
