import type { Client } from '../clients/client.ts'
import { moneyOf } from '../database/money.ts'
import { outcomesOf } from '../database/testAttempts.ts'
import { generateBody } from '../clients/requestBodies.ts'
import type { TestService } from './testService.ts'
import { until } from '../timing.ts'
import { randomUUID } from 'node:crypto'
import { workflowIdOf } from '../../../src/domain/ids.ts'
import type { TemporalWorld } from '../temporal/temporalWorld.ts'

export type End = {
  /** Status, or code of the failure. */
  readonly end: string
  readonly money: string
  /** What became of its calls, as PostgreSQL and as the upstream tell it. */
  readonly outcomes: readonly string[]
  readonly callsAtMs: readonly number[]
  /** How its newest run stands. */
  readonly run: string
}

/** What an operator does to a task's run, and when. */
export type Scenario = {
  readonly hand: OperatorHand
  readonly fault: string
  readonly model?: string
  /** So many of its calls have begun, and so many have ended, before the hand comes. */
  readonly begun?: number
  readonly closed?: number
}

/** From the hand to the end, whatever the fault's own time. */
const limitMs = 45_000

/** Tasks of one service whose runs an operator takes into his hands. */
export function createOperatorRuns(service: TestService, client: Client) {
  async function submit(prompt: string, model = 'familyb-image-2-vip'): Promise<string> {
    return (await client.accepted(generateBody({ model, prompt }))).task_id
  }

  async function play(name: string, scenario: Scenario): Promise<End> {
    const { hand, fault, model, begun = 0, closed = 0 } = scenario
    const prompt = `${name} [sim:${fault}]`
    const taskId = await submit(prompt, model)
    await service.simulator.waitForCalls(begun, { prompt }, limitMs)
    // Where none is to have ended, the hand comes while they are under way.
    if (closed > 0) await allClosed(taskId, closed)
    await operatorHands[hand](service.temporal, taskId)
    return endOf(taskId, prompt)
  }

  async function endOf(taskId: string, prompt: string): Promise<End> {
    const { status, error } = await client.ended(taskId, { limitMs, everyMs: 50 })
    const money = (await moneyOf(service.pool, taskId)).join(', ')
    const outcomes = await allClosed(taskId, 0)
    // The record is written first, the run closes right after.
    const run = await until('the end of the run', async () => {
      const now = await runStatus(service.temporal, taskId)
      return now === 'RUNNING' ? undefined : now
    })
    const callsAtMs = service.simulator.calls({ prompt }).map(({ at }) => at)
    return { end: error?.code ?? status, money, outcomes, callsAtMs, run }
  }

  /** The outcomes of a task's attempts, once there are `least` and none is open. */
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

/** What an operator does to a task's run in Temporal's UI or CLI. Each rejects when there is nothing to do it to. */
export const operatorHands = {
  terminate: async (world: TemporalWorld, taskId: string): Promise<void> => {
    await runOf(world, taskId).terminate('an operator')
  },
  cancel: async (world: TemporalWorld, taskId: string): Promise<void> => {
    await runOf(world, taskId).cancel()
  },
  /** To the first decision, as the UI's "reset to first workflow task". */
  reset: async (world: TemporalWorld, taskId: string): Promise<void> => {
    const { client, namespace } = world.temporal
    const handle = runOf(world, taskId)
    const { events } = await handle.fetchHistory()
    const completed = events?.find((event) => event.workflowTaskCompletedEventAttributes)
    if (completed?.eventId === undefined || completed.eventId === null) {
      throw new Error(`${taskId} has made no decision yet`)
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

export type OperatorHand = keyof typeof operatorHands

/** How the newest run of a task stands: `RUNNING`, `COMPLETED`, `CANCELLED`, …; `NONE` before its start. */
export async function runStatus(world: TemporalWorld, taskId: string): Promise<string> {
  const described = await runOf(world, taskId)
    .describe()
    .catch(() => undefined)
  return described?.status.name ?? 'NONE'
}

function runOf({ temporal }: TemporalWorld, taskId: string) {
  return temporal.client.workflow.getHandle(workflowIdOf(taskId))
}
