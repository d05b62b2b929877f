import type { Pool } from 'pg'
import { expect, it } from 'vitest'
import { createPool } from '../../src/store/connection/pool.ts'
import { purgeTasks } from '../../src/store/tasks/purgeTasks.ts'
import { withTransaction } from '../../src/store/connection/transaction.ts'
import { retryTask } from '../../src/store/tasks/retryTask.ts'
import { assertLedgerVerifies } from '../support/database/money.ts'
import { createTestAttempts, testChannel, testMeta } from '../support/database/testAttempts.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import type { Around, ModelState, Step } from '../support/database/transitionsModel.ts'
import { placesMax, takeStep } from '../support/database/transitionsModel.ts'
import * as world from '../support/database/transitionsWorld.ts'
import { createSeeded } from '../support/seeded.ts'

const database = useTestDatabase()

/** Returns the function that takes a step on a connection of its own and returns what the caller learns. */
async function createLane(pool: Pool): Promise<(step: Step) => Promise<string>> {
  const attempts = await createTestAttempts(pool)
  const refused = { code: 'rate_limit_exceeded', cause: 'refused', workPossible: false } as const
  const unknown = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
  return async ({ kind, ...step }) => {
    const { taskId, n, answerId, process, isMild } = step
    const [outcome, reason] = step.outcome
    switch (kind) {
      case 'open': {
        const channel = testChannel({ name: step.channel, concurrencyMax: placesMax })
        const asked = { taskId, n, answerId, processId: process, via: 'workflow', channel } as const
        return (await attempts.openAttempt(asked)).kind
      }
      case 'close':
        return String(
          await attempts.closeAttempt({ taskId, n, class: outcome, evidence: { reason } }),
        )
      case 'abandon': {
        const evidence = { reason: 'not_called' } as const
        return String(
          await attempts.closeAttempt({ taskId, n, answerId, class: 'refused', evidence }),
        )
      }
      case 'lose':
        return String(await attempts.loseAttempt({ taskId, n, witness: process }))
      case 'settle': {
        const sides = step.side === 0 ? {} : { width: step.side, height: step.side }
        return String(await attempts.settleTask({ meta: testMeta(taskId, n, sides), answerId }))
      }
      case 'fail':
        return attempts.failTask(taskId, isMild ? refused : unknown, n)
      case 'cancel':
        return attempts.cancelTask(taskId, isMild ? 'client_left' : 'asked')
      case 'retry': {
        const { credits, smallerPrices } = step
        const terms = { credits, smallerPrices, deadlineMs: 3_600_000, hardEndMs: 7_200_000 }
        const retried = await withTransaction(pool, async (client) => {
          await client.query('savepoint unchanged')
          const result = await retryTask(client, { ...step, termsOf: () => terms })
          if (result.kind !== 'retried') await client.query('rollback to savepoint unchanged')
          return result
        })
        return retried.kind
      }
      case 'purge':
        return String(await purgeTasks(pool, 100))
      default:
        return kind satisfies never
    }
  }
}

const orders = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
] as const

it('transitions at the same time do what they would do one after the other [money-12, cancel-3, cancel-6, hook-9]', async () => {
  const pools = [1, 2, 3].map(() =>
    createPool({
      databaseUrl: database.databaseUrl,
      applicationName: 'lane',
      connectionsMax: 1,
      onConnectionError: () => {},
    }),
  )
  const lanes = await Promise.all(pools.map(createLane))
  const failures: string[] = []
  for (let seed = world.firstSeed; seed < world.firstSeed + world.histories; seed += 1) {
    const failure = await runHistory(seed, lanes).catch((error: unknown) => String(error))
    if (failure !== undefined) failures.push(`MODEL_SEED=${seed} MODEL_HISTORIES=1: ${failure}`)
  }
  await Promise.all(pools.map((pool) => pool.end()))
  expect(failures.slice(0, 5), `${failures.length} of ${world.histories} histories`).toEqual([])
  await assertLedgerVerifies(database.pool)
  const { rows } = await database.pool.query(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  )
  expect(rows).toEqual([{ deadlocks: 0 }])
}, 3_600_000)

type Lanes = readonly ((step: Step) => Promise<string>)[]

async function runHistory(seed: number, lanes: Lanes): Promise<string | undefined> {
  const { pool } = database
  const seeded = createSeeded(seed)
  let state = await world.beginHistory(pool, seed, seeded)
  let hot = seeded.pick(Object.keys(state.tasks))
  for (let round = 0; round < world.rounds; round += 1) {
    if (seeded.chance(0.3)) hot = seeded.pick(Object.keys(state.tasks))
    const kind = seeded.chance(0.3) ? seeded.pick(world.kinds) : undefined
    if (seeded.chance(0.6)) await world.letTimePass(pool, state, seeded, hot)
    const steps = lanes.map((_lane, lane) => {
      const taskId = seeded.chance(0.7) ? hot : seeded.pick(Object.keys(state.tasks))
      return world.chooseStep(state, seeded, { taskId, lane, kind })
    })
    const held = seeded.pick(['nothing', 'task', 'task', 'channel', 'balance', 'cooldown'] as const)
    const release = held === 'nothing' ? undefined : await world.hold(pool, state, held, hot)
    const taking = Promise.all(
      steps.map((step, lane) => lanes[lane]?.(step) ?? Promise.resolve('')),
    )
    await release?.()
    const results = await taking
    const shown = await show(state, steps)
    const found = explain(state, steps, results, held === 'task' ? hot : '', shown)
    if (typeof found === 'string') return `round ${round}, ${held} held: ${found}`
    state = found
  }
  return undefined
}

/** Reads the database, and also the tasks that the steps may have made. */
function show(state: ModelState, steps: readonly Step[]): Promise<readonly string[]> {
  return world.readDatabase(
    database.pool,
    state,
    steps.flatMap((step) => (step.kind === 'retry' ? [step.newTaskId] : [])),
  )
}

/** Returns the state after the steps in one of the orders that explain what was seen, or what was not explained. */
function explain(
  state: ModelState,
  steps: readonly Step[],
  results: readonly string[],
  heldTask: string,
  shown: readonly string[],
): ModelState | string {
  const around: Omit<Around, 'isEarlyEnd'> = {
    kept: new Set(
      shown.filter((line) => !line.includes(' gone ')).map((line) => line.slice(0, 37)),
    ),
    isContended: (taskId) =>
      taskId === heldTask ||
      steps.filter((step) => step.kind === 'purge' || step.taskId === taskId).length > 1,
  }
  let nearest: readonly string[] = ['no order of the steps allows the results']
  for (const order of [...orders, ...orders.map((order) => [...order, 'early'] as const)]) {
    const next = structuredClone(state)
    for (const task of Object.values(next.tasks))
      for (const attempt of task.attempts) attempt.isNew = false
    const isEarlyEnd = order.length > 3
    const isAllowed = order.every((index) => {
      if (index === 'early') return true
      const [step, result] = [steps[index], results[index]]
      return (
        step !== undefined &&
        result !== undefined &&
        takeStep(next, step, result, { ...around, isEarlyEnd })
      )
    })
    if (!isAllowed) continue
    const lines = world.linesOf(next)
    if (lines.every((line) => shown.includes(line))) return next
    nearest = lines.filter((line) => !shown.includes(line))
  }
  const seen = steps.map((step, index) => `${JSON.stringify(step)} → ${results[index]}`)
  const task = shown.filter((line) => steps.some(({ taskId }) => line.startsWith(taskId)))
  return [...seen, 'model:', ...nearest, 'database:', ...task, ...shown.slice(-3)].join('\n')
}
