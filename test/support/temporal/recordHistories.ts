// node test/support/temporal/recordHistories.ts HOST:PORT records one history per path of the workflow.
// An existing file is not recorded again: it represents runs that were started by older code.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProduceResult } from '../../../src/tasks/produce/produceImage.ts'
import { cancelWorkflow, fetchHistory } from '../../../src/temporal/runs.ts'
import type { Script, TemporalWorld } from './temporalWorld.ts'
import {
  createScripts,
  failActivity,
  handleOf,
  openTemporalWorld,
  startTestWorker,
} from './temporalWorld.ts'
import { until } from '../timing.ts'

type Path = {
  readonly script: Script
  /** When the run is cancelled. `unseen`: before a worker has seen the run. */
  readonly cancel?: 'running' | 'unseen'
  /** Whether an operator fails the first run of the activity. */
  readonly failedByHand?: boolean
}

const succeeded: ProduceResult = { kind: 'succeeded' }
const wait = (delayMs: number): ProduceResult => ({ kind: 'wait', delayMs, reason: 'cooldown' })
const rejected: ProduceResult = {
  kind: 'failed',
  failure: { code: 'content_policy_violation', cause: 'rejected', workPossible: false },
}
const refused: ProduceResult = {
  kind: 'failed',
  failure: {
    code: 'rate_limit_exceeded',
    cause: 'refused',
    workPossible: false,
    retryAfterMs: 60_000,
  },
}

/** Every path of `workflows/imageTask.ts`, by the name of its file in `test/histories/`. */
const paths: Readonly<Record<string, Path>> = {
  succeeded: { script: { produce: [succeeded] } },
  succeededAfterWaits: { script: { produce: [wait(1_100), wait(1_200), succeeded] } },
  over: { script: { produce: [{ kind: 'over' }] } },
  failed: {
    script: {
      produce: [
        async ({ onStage }) => {
          onStage?.({ stage: 'calling', channel: 'b-main' })
          return rejected
        },
      ],
    },
  },
  failedWithRetryAfter: { script: { produce: [wait(1_100), refused] } },
  givenUp: {
    script: { produce: [() => sleep(1_500, succeeded), rejected] },
    failedByHand: true,
  },
  cancelled: { script: { produce: [wait(600_000)], cancelled: true }, cancel: 'running' },
  cancelledUnseen: { script: { produce: [], cancelled: true }, cancel: 'unseen' },
  cancelUnseenRefused: { script: { produce: [succeeded], cancelled: false }, cancel: 'unseen' },
  cancelRefused: {
    script: { produce: [() => sleep(1_500, succeeded)], cancelled: false },
    cancel: 'running',
  },
  cancelRefusedThenFailed: {
    script: { produce: [() => sleep(1_500, rejected)], cancelled: false },
    cancel: 'running',
  },
}

const [address] = process.argv.slice(2)
if (address === undefined)
  throw new Error('usage: node test/support/temporal/recordHistories.ts HOST:PORT')

const world = await openTemporalWorld(address)
const scripts = createScripts()
for (const [name, path] of Object.entries(paths)) {
  const file = new URL(`../../histories/${name}.json`, import.meta.url)
  if (existsSync(file)) continue
  await writeFile(file, `${JSON.stringify(await record(world, path))}\n`)
  process.stdout.write(`recorded ${name}\n`)
}
await world.close()

/** Runs one path and returns its history. */
async function record(world: TemporalWorld, path: Path): Promise<unknown> {
  const start = scripts.add(path.script)
  const { taskId } = start
  await world.startTask(start)
  if (path.cancel === 'unseen') await cancelWorkflow(world.temporal, taskId)
  const worker = await startTestWorker(world.settings, scripts.activities)
  const isAfterStart = path.cancel === 'running' || path.failedByHand === true
  if (isAfterStart) {
    await until('a run', () => (scripts.seenOf(taskId).runsAtMs.length > 0 ? true : undefined))
  }
  if (path.cancel === 'running') await cancelWorkflow(world.temporal, taskId)
  if (path.failedByHand === true) await failActivity(world, taskId)
  await handleOf(world, taskId)
    .result()
    .catch(() => {})
  await worker.stop()
  const history: unknown = JSON.parse((await fetchHistory(world.temporal, taskId)) ?? 'null')
  return anonymous(history)
}

/** Removes process names (PID@host) and stacks, which describe the recording machine. Replay needs neither. */
function anonymous(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/^\d+@[\w.-]+/, 'recorder')
  if (Array.isArray(value)) return value.map(anonymous)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'stackTrace')
      .map(([key, member]) => [key, anonymous(member)]),
  )
}
