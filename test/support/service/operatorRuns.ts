import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../clients/client.ts'
import { generateBody } from '../clients/requestBodies.ts'
import { moneyOf } from '../database/money.ts'
import { outcomesOf } from '../database/testAttempts.ts'
import type { TemporalWorld } from '../temporal/temporalWorld.ts'
import { handleOf } from '../temporal/temporalWorld.ts'
import type { TestService } from './testService.ts'
import { until } from '../timing.ts'

/** What an operator does to the run of a task, and when. */
export type Scenario = {
  readonly action: OperatorAction
  readonly fault: string
  readonly model?: string
  /** The numbers of upstream calls that have begun and that have ended when the operator acts. */
  readonly begun?: number
  readonly closed?: number
}

/** How a task and its run ended. */
export type End = {
  /** The status, or the failure code. */
  readonly end: string
  readonly money: string
  /** Class and reason of each attempt. */
  readonly outcomes: readonly string[]
  readonly callsAtMs: readonly number[]
  /** The status of the newest run. */
  readonly run: string
}

const answerAfterMs = 1_500
const checkEveryMs = 5_000
/** From the action to the end of the task, for every fault that the tests use. */
const limitMs = 55_000

/** Submits tasks to a service and acts on their runs in Temporal, as an operator does. */
export function createOperatorRuns(service: TestService, client: Client) {
  async function submit(prompt: string, model = 'familyb-image-2-vip'): Promise<string> {
    return (await client.accepted(generateBody({ model, prompt }))).task_id
  }

  async function play(name: string, scenario: Scenario): Promise<End> {
    const { action, fault, model, begun = 0, closed = 0 } = scenario
    const prompt = `${name} [sim:${fault}]`
    const taskId = await submit(prompt, model)
    await service.simulator.waitForCalls(begun, { prompt }, limitMs)
    // With `closed` 0 the operator acts while the calls are under way.
    if (closed > 0) await allClosed(taskId, closed)
    await operatorActions[action](service.temporal, taskId)
    await checkSoon(taskId)
    // So that the run has met the action before the answer arrives.
    await sleep(answerAfterMs)
    await service.simulator.release({ prompt })
    return endOf(taskId, prompt)
  }

  /**
   * Nothing tells Darkroom of a terminated run. The next check comes at most two minutes later, here at once, and
   * again until the task has ended, because Temporal may be too busy to answer a check.
   */
  async function checkSoon(taskId: string): Promise<void> {
    await service.pool.query(
      'update task set next_check_at = now() where task_id = $1 and next_check_at > now()',
      [taskId],
    )
  }

  async function endOf(taskId: string, prompt: string): Promise<End> {
    const checks = setInterval(() => void checkSoon(taskId).catch(() => {}), checkEveryMs)
    const ended = client.ended(taskId, { limitMs }).finally(() => clearInterval(checks))
    const { status, error } = await ended
    const money = (await moneyOf(service.pool, taskId)).join(', ')
    const outcomes = await allClosed(taskId, 0)
    // The run closes after the record is written. Temporal has taken up to 40 s to cancel one.
    const closing = async () => {
      const now = await runStatus(service.temporal, taskId)
      return now === 'RUNNING' ? undefined : now
    }
    const run = await until('the end of the run', closing, limitMs)
    const callsAtMs = (await service.simulator.calls({ prompt })).map(({ at }) => at)
    return { end: error?.code ?? status, money, outcomes, callsAtMs, run }
  }

  /** Waits until a task has at least `least` attempts, all of them closed, and returns their outcomes. */
  function allClosed(taskId: string, least: number): Promise<readonly string[]> {
    return until(`${least} closed attempts`, async () => {
      const outcomes = await outcomesOf(service.pool, taskId)
      const open = outcomes.some((outcome) => outcome.startsWith('open'))
      return open || outcomes.length < least ? undefined : outcomes
    })
  }

  const runIs = (taskId: string, wanted: string) =>
    until(`a run ${wanted}`, async () =>
      (await runStatus(service.temporal, taskId)) === wanted ? true : undefined,
    )

  return { submit, play, endOf, runIs }
}

/** What an operator can do to a run in Temporal's UI or CLI. Each rejects when no run can be acted on. */
export const operatorActions = {
  terminate: async (world: TemporalWorld, taskId: string): Promise<void> => {
    await handleOf(world, taskId).terminate('an operator')
  },
  cancel: async (world: TemporalWorld, taskId: string): Promise<void> => {
    await handleOf(world, taskId).cancel()
  },
  /** Resets to the first workflow task, as "Reset" in the UI does. */
  reset: async (world: TemporalWorld, taskId: string): Promise<void> => {
    const { client, namespace } = world.temporal
    const handle = handleOf(world, taskId)
    const { events } = await handle.fetchHistory()
    const completed = events?.find((event) => event.workflowTaskCompletedEventAttributes)
    if (completed?.eventId === undefined || completed.eventId === null) {
      throw new Error(`${taskId} has completed no workflow task yet`)
    }
    await client.workflowService.resetWorkflowExecution({
      namespace,
      workflowExecution: { workflowId: handle.workflowId },
      reason: 'an operator',
      workflowTaskFinishEventId: completed.eventId,
      requestId: randomUUID(),
    })
  },
}

export type OperatorAction = keyof typeof operatorActions

/** Returns the status of the newest run of a task, such as `RUNNING`, or `NONE` when it has no run yet. */
export async function runStatus(world: TemporalWorld, taskId: string): Promise<string> {
  const described = await handleOf(world, taskId)
    .describe()
    .catch(() => undefined)
  return described?.status.name ?? 'NONE'
}
