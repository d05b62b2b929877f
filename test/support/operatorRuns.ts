import type { Client } from './client.ts'
import { moneyOf, outcomesOf } from './books.ts'
import type { OperatorHand } from './operatorHands.ts'
import { operatorHands, runStatus } from './operatorHands.ts'
import { generateBody } from './requestBodies.ts'
import type { TestService } from './service.ts'
import { until } from './until.ts'

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
