import { WorkflowFailedError } from '@temporalio/client'
import { CancelledFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import type { ProduceResult } from '../../src/tasks/produceImage.ts'
import { cancelWorkflow } from '../../src/temporal/runs.ts'
import type { Script } from '../support/temporal/temporalWorld.ts'
import {
  useScriptedWorld,
  openTestWorld,
  createScripts,
  handleOf,
  startTestWorker,
} from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const scripts = createScripts()
const world = useScriptedWorld(scripts)

const longWait: ProduceResult = { kind: 'wait', delayMs: 600_000, reason: 'cooldown' }

/** Starts the script, cancels the workflow once `produceImage` has run, and returns its end. */
async function cancelled(script: Script, then: () => void = () => {}) {
  const start = scripts.add(script)
  await world.startTask(start)
  const { taskId } = start
  const seen = scripts.seenOf(taskId)
  await until('a first run', () => (seen.runsAtMs.length > 0 ? true : undefined))
  await cancelWorkflow(world.temporal, taskId)
  then()
  const handle = handleOf(world, taskId)
  const end: unknown = await handle.result().catch((error: unknown) => error)
  return { end, seen, handle }
}

function causeOf(end: unknown): unknown {
  return end instanceof WorkflowFailedError ? end.cause : undefined
}

describe('a cancel of the workflow', () => {
  it('ends a waiting task as Cancelled, at once', async () => {
    const { end, seen, handle } = await cancelled({ produce: [longWait], cancelled: true })
    expect(causeOf(end)).toBeInstanceOf(CancelledFailure)
    expect(seen.runsAtMs).toHaveLength(1)
    expect(await handle.query('status')).toEqual({ stage: 'cancelled', cancel: 'asking' })
  })

  it('lets a call under way finish when the task may not be cancelled', async () => {
    const answer = Promise.withResolvers<ProduceResult>()
    let aborted: boolean | undefined
    const { end, seen, handle } = await cancelled(
      {
        produce: [
          async ({ signal }) => {
            const result = await answer.promise
            aborted = signal?.aborted
            return result
          },
        ],
        cancelled: false,
      },
      () => setTimeout(() => answer.resolve({ kind: 'succeeded' }), 500),
    )
    expect(end).toEqual({ outcome: 'succeeded' })
    expect(aborted).toBe(false)
    expect(seen.runsAtMs).toHaveLength(1)
    expect(await handle.query('status')).toEqual({ stage: 'succeeded', cancel: 'kept' })
  })
})

describe('a cancel before a worker has seen the run', () => {
  async function cancelledUnseen(script: Script) {
    const quiet = await openTestWorld()
    const start = scripts.add(script)
    await quiet.startTask(start)
    await cancelWorkflow(quiet.temporal, start.taskId)
    const worker = await startTestWorker(quiet.settings, scripts.activities)
    const result = handleOf(quiet, start.taskId).result()
    const end: unknown = await result.catch((error: unknown) => error)
    await worker.stop()
    await quiet.close()
    return { end, runs: scripts.seenOf(start.taskId).runsAtMs.length }
  }

  it('lets the task continue when it may not be cancelled', async () => {
    const script: Script = { produce: [{ kind: 'succeeded' }], cancelled: false }
    expect(await cancelledUnseen(script)).toEqual({ end: { outcome: 'succeeded' }, runs: 1 })
  })
})
