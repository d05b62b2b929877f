import { describe, expect, it } from 'vitest'
import { createReconcilerLock } from '../../../src/store/connection/reconcilerLock.ts'
import type { Finding, ReconcileStep } from '../../../src/tasks/reconcile/reconciler.ts'
import { createReconciler } from '../../../src/tasks/reconcile/reconciler.ts'
import { useTestDatabase } from '../../support/database/testDatabase.ts'
import { until } from '../../support/timing.ts'

const database = useTestDatabase()

function reconciler(name: string, given: readonly Partial<ReconcileStep>[] = [{}]) {
  const lock = createReconcilerLock({ databaseUrl: database.databaseUrl, applicationName: name })
  const findings: Finding[] = []
  const errors: unknown[] = []
  const steps = given.map((step): ReconcileStep => {
    return { name: 'start', everyMs: 20, run: async () => {}, ...step }
  })
  const made = createReconciler({
    ...lock,
    steps,
    onFinding: (finding) => void findings.push(finding),
    onStepError: (step, error) => void errors.push([step, error]),
  })
  return { ...made, findings, errors }
}

const leading = (made: { isLeader: () => boolean }) => () => (made.isLeader() ? true : undefined)

async function lockHolder(): Promise<number | undefined> {
  const { rows } = await database.pool.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory' and granted and database = (
       select oid from pg_database where datname = current_database())`,
  )
  return rows[0]?.pid
}

describe('reconcilers of several workers', () => {
  it('have one leader, and another when it stops', async () => {
    const first = reconciler('first')
    const second = reconciler('second')
    first.start()
    await until('a leader', leading(first))
    second.start()
    await new Promise((resolve) => {
      setTimeout(resolve, 1_200)
    })
    expect(second.isLeader()).toBe(false)
    await first.stop()
    expect(first.isLeader()).toBe(false)
    await until('the second leader', leading(second))
    await second.stop()
  })

  it('have another leader when the connection of the first is lost', async () => {
    const first = reconciler('broken')
    const second = reconciler('healthy')
    first.start()
    await until('a leader', leading(first))
    second.start()
    await new Promise((resolve) => {
      setTimeout(resolve, 1_100)
    })
    const killed = await until('the lock', lockHolder)
    await database.pool.query('select pg_terminate_backend($1)', [killed])
    // The first reconciler that asks now gets the lock.
    const heir = await until('a new holder', async () => {
      const pid = await lockHolder()
      return pid === killed ? undefined : pid
    })
    expect(heir).not.toBe(killed)
    await until('one leader', () => (first.isLeader() !== second.isLeader() ? true : undefined))
    await Promise.all([first.stop(), second.stop()])
  })
})

describe('the steps of a leader', () => {
  it('continue when one step hangs and another throws', async () => {
    let runs = 0
    const made = reconciler('isolated', [
      { name: 'check', run: () => new Promise(() => {}) },
      {
        name: 'sweep',
        run: async () => {
          throw new Error('away')
        },
      },
      {
        name: 'end',
        run: async () => {
          runs += 1
        },
      },
    ])
    made.start()
    await until('five runs', () => (runs >= 5 && made.errors.length >= 2 ? true : undefined))
    expect(made.errors[0]).toEqual(['sweep', new Error('away')])
    await made.stop()
    const seen = runs
    await new Promise((resolve) => {
      setTimeout(resolve, 100)
    })
    expect(runs).toBe(seen)
  }, 30_000)
})
