import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import type { TaskFailure } from '../../src/domain/failure.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { tempFolder } from '../support/tempFolder.ts'
import {
  openTestWorld,
  createScripts,
  handleOf,
  startTestWorker,
} from '../support/temporal/temporalWorld.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

let taskId: string
let recorded: string
let environment: Readonly<Record<string, string>>

beforeAll(async () => {
  const world = await openTestWorld()
  const scripts = createScripts()
  const worker = await startTestWorker(world.settings, scripts.activities)
  const failure: TaskFailure = {
    code: 'content_policy_violation',
    cause: 'rejected',
    workPossible: false,
  }
  const start = scripts.add({ produce: [{ kind: 'end', failure }] })
  await world.startTask(start)
  await handleOf(world, start.taskId)
    .result()
    .catch(() => {})
  taskId = start.taskId
  const { address, namespace } = world.settings
  environment = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, DATA_DIR: '/none' }
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-histories-'))
  recorded = join(folder, 'recorded.json')
  await runDarkroom(['task', 'history', taskId, '--out', recorded], environment)
  return async () => {
    await worker.stop()
    await world.close()
    await rm(folder, { recursive: true, force: true })
  }
}, stackStartMsMax)

/** A copy of this checkout in which two activity calls of the workflow are swapped. */
async function swappedCheckout(): Promise<string> {
  const folder = tempFolder()
  for (const room of ['src', 'workflows', 'activities', 'package.json']) {
    await cp(join(root, room), join(folder, room), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const path = join(folder, 'workflows/imageTask.ts')
  const source = await readFile(path, 'utf8')
  const [one, other] = ['activities.produceImage({ taskId })', 'activities.cancelTask({ taskId })']
  expect(source.split(one).length).toBe(2)
  expect(source.split(other).length).toBe(2)
  const swapped = source.replace(one, 'ONE').replace(other, one).replace('ONE', other)
  await writeFile(path, swapped)
  return folder
}

describe('darkroom task history', () => {
  it('writes the history of a task to a file, or to standard output', async () => {
    const file = join(tempFolder(), 'of-a-task.json')
    const answer = await darkroomJson(['task', 'history', taskId, '--out', file], environment)
    expect(answer).toEqual({ task_id: taskId, file, events: 18 })
    const written: { events: { eventType: string }[] } = JSON.parse(await readFile(file, 'utf8'))
    expect(written.events.at(-1)?.eventType).toBe('EVENT_TYPE_WORKFLOW_EXECUTION_FAILED')
    const { stdout } = await runDarkroom(['task', 'history', taskId, '--out', '-'], environment)
    expect(JSON.parse(stdout)).toEqual(written)
  })

  it('refuses a task without a run, and names TEMPORAL_ADDRESS when Temporal is unreachable', async () => {
    const unknown = await runDarkroom(['task', 'history', `task_${'0'.repeat(32)}`], environment)
    expect(unknown).toMatchObject({ exitCode: 1, stdout: '' })
    expect(unknown.stderr).toContain('Temporal has no run of')
    const startedAt = performance.now()
    const unreachable = await runDarkroom(['task', 'history', taskId], {
      ...environment,
      TEMPORAL_ADDRESS: '127.0.0.1:1',
    })
    expect(unreachable.exitCode).toBe(1)
    expect(unreachable.stderr).toContain('127.0.0.1:1 (TEMPORAL_ADDRESS)')
    expect(performance.now() - startedAt).toBeLessThan(6_000)
  })
})

describe('darkroom task replay', () => {
  const nothing = { DATA_DIR: '/none' }

  it('names the first event that differs when two activity calls are swapped', async () => {
    const script = join(await swappedCheckout(), 'src/cli.ts')
    const args = [script, 'task', 'replay', '--file', recorded, '--json']
    const env = { PATH: process.env['PATH'], ...nothing }
    const ran = promisify(execFile)(process.execPath, args, { env })
    const failure = await ran.then(
      () => undefined,
      (error: { code: number; stdout: string }) => error,
    )
    expect(failure?.code).toBe(1)
    expect(JSON.parse(failure?.stdout ?? '')).toMatchObject({
      replays: false,
      event: { id: 5, type: 'ActivityTaskScheduled', activity: 'produceImage' },
    })
  })

  it.each([
    ['a file that is not a history', { no: 'events' }, "is not a history in Temporal's JSON"],
    ['a history without a workflow task', { events: [{ eventId: '1' }] }, 'no workflow task'],
  ])('refuses %s', async (_what, content, reason) => {
    const file = join(tempFolder(), 'given.json')
    await writeFile(file, JSON.stringify(content))
    const run = await runDarkroom(['task', 'replay', '--file', file], nothing)
    expect(run.exitCode).toBe(1)
    expect(run.stderr).toContain(reason)
  })

  it('is wrong usage with both a task id and --file, or with neither', async () => {
    expect((await runDarkroom(['task', 'replay'], nothing)).exitCode).toBe(2)
    const both = ['task', 'replay', taskId, '--file', recorded]
    expect((await runDarkroom(both, nothing)).exitCode).toBe(2)
  })
})
