import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { calmService } from '../support/service/calmService.ts'
import { runDarkroom, runCommands } from '../support/service/darkroomCli.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { handleOf } from '../support/temporal/temporalWorld.ts'
import { until } from '../support/timing.ts'

const script = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
/** Of commands that need no service. */
const nothing = { DATA_DIR: '/none' }

const service = await calmService()
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

/** Runs commands at once in this process. */
const here = (...commands: readonly (readonly string[])[]) =>
  runCommands(commands, service.environment)

/** Runs `task replay --file` as a process: one that finds a difference ends its process. */
async function replayProcess(file: string) {
  const env = { PATH: process.env['PATH'], ...nothing }
  const args = [script, 'task', 'replay', '--file', file, '--json']
  return promisify(execFile)(process.execPath, args, { env }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  )
}

describe('darkroom task history', () => {
  it('writes the history of a task to a file or to standard output, and refuses a task without a run', async () => {
    const file = join(tempFolder(), 'of-a-task.json')
    const [toFile, toOutput, unknown] = await here(
      ['task', 'history', taskId, '--out', file, '--json'],
      ['task', 'history', taskId, '--out', '-'],
      ['task', 'history', `task_${'0'.repeat(32)}`],
    )
    const text = await readFile(file, 'utf8')
    const written: { events: { eventType: string }[] } = JSON.parse(text)
    const { length: events } = written.events
    expect(JSON.parse(toFile?.stdout ?? '')).toEqual({ task_id: taskId, file, events })
    expect(written.events.at(-1)?.eventType).toBe('EVENT_TYPE_WORKFLOW_EXECUTION_FAILED')
    expect(text).toContain('content_policy_violation')
    expect(text).not.toContain(prompt)
    expect(JSON.parse(toOutput?.stdout ?? '')).toEqual(written)
    expect(unknown).toMatchObject({ exitCode: 1, stdout: '' })
    expect(unknown?.stderr).toContain('Temporal has no run of')
  })
})

describe('darkroom task replay', () => {
  it('succeeds for a history of the same workflow code, and else names what differs', async () => {
    const folder = tempFolder()
    const [recorded, changed] = [join(folder, 'recorded.json'), join(folder, 'changed.json')]
    await here(['task', 'history', taskId, '--out', recorded])
    const text = await readFile(recorded, 'utf8')
    await writeFile(changed, text.replaceAll('"produceImage"', '"produceSomethingElse"'))
    const [byId, byFile, differs] = await Promise.all([
      runDarkroom(['task', 'replay', taskId, '--json'], service.environment),
      runDarkroom(['task', 'replay', '--file', recorded], nothing),
      replayProcess(changed),
    ])
    const { events }: { events: unknown[] } = JSON.parse(text)
    expect(JSON.parse(byId.stdout)).toEqual({ replays: true, events: events.length })
    expect(byFile).toMatchObject({ exitCode: 0, stderr: '' })
    expect(byFile.stdout).toContain(`all ${events.length} events`)
    expect(differs.code).toBe(1)
    expect(JSON.parse(differs.stdout)).toEqual({
      replays: false,
      events: events.length,
      reason: expect.stringMatching(
        /^Activity type of scheduled event 'produceSomethingElse' .* command 'produceImage'$/,
      ),
    })
  })

  it('refuses a file that is no history, and is wrong usage with both a task id and --file, or with neither', async () => {
    const file = join(tempFolder(), 'none.json')
    await writeFile(file, JSON.stringify({ no: 'events' }))
    const [wrong, both, noHistory] = await here(
      ['task', 'replay'],
      ['task', 'replay', taskId, '--file', file],
      ['task', 'replay', '--file', file],
    )
    expect([wrong?.exitCode, both?.exitCode, noHistory?.exitCode]).toEqual([2, 2, 1])
    expect(noHistory?.stderr).toContain("is not a history in Temporal's JSON")
  })
})
