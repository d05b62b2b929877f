import { randomUUID } from 'node:crypto'
import { workflowIdOf } from '../../src/domain/ids.ts'
import type { TemporalWorld } from './temporalWorld.ts'

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
