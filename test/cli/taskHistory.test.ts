import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { calmService } from '../support/service/calmService.ts'
import { runDarkroom, runCommands } from '../support/service/darkroomCli.ts'
import { handleOf } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Of commands that need no service. */
const nothing = { DATA_DIR: '/none' }

const service = await calmService()
const folder = await mkdtemp(join(tmpdir(), 'darkroom-histories-'))
const client = createClient(service.url, (await service.account()).secret)
const prompt = 'taskHistory [sim:moderation]'
const taskId = (await client.accepted(generateBody({ prompt }))).task_id
// The run starts and ends a moment after its task.
await until('a failed run', async () => {
  const run = await handleOf(service.temporal, taskId)
    .describe()
    .catch(() => undefined)
  return run?.status.name === 'FAILED' ? true : undefined
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs commands at once in this process. */
const here = (...commands: readonly (readonly string[])[]) =>
  runCommands(commands, service.environment)

/**
 * Runs the CLI of a checkout as a process without a service, and gives what it prints also when it fails. A replay
 * that finds a difference ends its process.
 */
async function runIn(checkout: string, args: readonly string[], cwd: string, more = {}) {
  const env = { PATH: process.env['PATH'], ...nothing, ...more }
  const script = join(checkout, 'src/cli.ts')
  return promisify(execFile)(process.execPath, [script, ...args], { env, cwd }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

/** A copy of this checkout in which two activity calls of the workflow are swapped. */
async function swappedCheckout(): Promise<string> {
  const copy = join(folder, 'swapped')
  for (const room of ['src', 'workflows', 'activities', 'package.json']) {
    await cp(join(root, room), join(copy, room), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  const path = join(copy, 'workflows/imageTask.ts')
  const source = await readFile(path, 'utf8')
  const [one, other] = ['activities.produceImage(argument)', 'activities.cancelTask({ taskId })']
  expect(source.split(one).length).toBe(2)
  expect(source.split(other).length).toBe(2)
  await writeFile(
    path,
    source
      .replace(one, 'ONE')
      .replace(other, 'activities.produceImage({ taskId })')
      .replace('ONE', 'activities.cancelTask(argument)'),
  )
  return copy
}

describe('darkroom task history', () => {
  it('writes the history of a task to a file, by default one named after it, or to standard output', async () => {
    const file = join(folder, 'of-a-task.json')
    const [toFile, toOutput] = await here(
      ['task', 'history', taskId, '--out', file, '--json'],
      ['task', 'history', taskId, '--out', '-'],
    )
    const written: { events: { eventType: string }[] } = JSON.parse(await readFile(file, 'utf8'))
    const { length: events } = written.events
    expect(JSON.parse(toFile?.stdout ?? '')).toEqual({ task_id: taskId, file, events })
    expect(written.events.at(-1)?.eventType).toBe('EVENT_TYPE_WORKFLOW_EXECUTION_FAILED')
    expect(JSON.parse(toOutput?.stdout ?? '')).toEqual(written)
    await runIn(root, ['task', 'history', taskId], folder, service.environment)
    const named = await readFile(join(folder, `${taskId}.history.json`), 'utf8')
    expect(JSON.parse(named)).toEqual(written)
  })

  it('refuses a task without a run, and names TEMPORAL_ADDRESS when Temporal is unreachable', async () => {
    const [unknown] = await here(['task', 'history', `task_${'0'.repeat(32)}`])
    expect(unknown).toMatchObject({ exitCode: 1, stdout: '' })
    expect(unknown?.stderr).toContain('Temporal has no run of')
    const nowhere = { ...service.environment, TEMPORAL_ADDRESS: '127.0.0.1:1' }
    const unreachable = await runDarkroom(['task', 'history', taskId], nowhere)
    expect(unreachable?.exitCode).toBe(1)
    expect(unreachable?.stderr).toContain('127.0.0.1:1 (TEMPORAL_ADDRESS)')
    expect(unreachable?.seconds).toBeLessThan(6)
  })
})

describe('darkroom task replay', () => {
  it('succeeds for a history of the same workflow code, and else names what differs', async () => {
    const [recorded, late] = [join(folder, 'recorded.json'), join(folder, 'late.json')]
    await here(['task', 'history', taskId, '--out', recorded])
    const text = await readFile(recorded, 'utf8')
    await writeFile(late, text.replaceAll('"produceImage"', '"produceSomethingElse"'))
    const replay = ['task', 'replay', '--file', recorded]
    const [byId, byFile, swapped, differsLate] = await Promise.all([
      runDarkroom(['task', 'replay', taskId, '--json'], service.environment),
      runDarkroom(replay, nothing),
      runIn(await swappedCheckout(), [...replay, '--json'], folder),
      runIn(root, ['task', 'replay', '--file', late], folder),
    ])
    const { events }: { events: unknown[] } = JSON.parse(text)
    expect(JSON.parse(byId.stdout)).toEqual({ replays: true, events: events.length })
    expect(byFile).toMatchObject({ exitCode: 0, stderr: '' })
    expect(byFile.stdout).toContain(`all ${events.length} events`)
    expect(swapped.code).toBe(1)
    expect(JSON.parse(swapped.stdout)).toEqual({
      replays: false,
      events: events.length,
      reason: expect.stringMatching(/scheduled event 'produceImage' .* command 'cancelTask'$/),
    })
    expect(differsLate.code).toBe(1)
    expect(differsLate.stdout).toMatch(
      /^Differs\.\nActivity type of scheduled event 'produceSomethingElse' .* command 'produceImage'$/m,
    )
  })

  it('refuses a file that is no history, and is wrong usage with both a task id and --file, or with neither', async () => {
    const [none, empty] = [join(folder, 'none.json'), join(folder, 'empty.json')]
    await writeFile(none, JSON.stringify({ no: 'events' }))
    await writeFile(empty, JSON.stringify({ events: [{ eventId: '1' }] }))
    const [wrong, both, noHistory] = await here(
      ['task', 'replay'],
      ['task', 'replay', taskId, '--file', none],
      ['task', 'replay', '--file', none],
    )
    expect([wrong?.exitCode, both?.exitCode, noHistory?.exitCode]).toEqual([2, 2, 1])
    expect(noHistory?.stderr).toContain("is not a history in Temporal's JSON")
    const noTask = await runIn(root, ['task', 'replay', '--file', empty], folder)
    expect(noTask.code).toBe(1)
    expect(noTask.stderr).toContain('no workflow task')
  })
})
