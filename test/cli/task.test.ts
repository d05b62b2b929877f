import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { newTaskId } from '../../src/domain/ids.ts'
import { assetUrl } from '../../src/http/assetUrl.ts'
import { readTask } from '../../src/store/tasks/readTask.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf } from '../support/database/money.ts'
import { openAttempt, testMeta } from '../support/database/testAttempts.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { insertFailedTask, useCliWorld } from './openCliWorld.ts'

const world = useCliWorld()

type Listed = { task_id: string; status: string; account: string; error?: { code: string } }

describe('darkroom task cancel of many', () => {
  it('says which it would take and which it could not, with exit code 1', async () => {
    const calling = await insertTask(world.pool)
    const { accountId } = calling
    await openAttempt(world.attempts, calling.taskId)
    const queued = await insertTask(world.pool, { accountId })
    const many = ['task', 'cancel', '--account', accountId]
    const dry = await world.run(...many, '--dry-run')
    expect(dry).toMatchObject({ exitCode: 0, stdout: `${queued.taskId}\n${calling.taskId}\n` })
    const done = await world.run(...many)
    expect([done.exitCode, ...done.stdout.split('\n')]).toEqual([
      1,
      `${queued.taskId} is cancelled.`,
      expect.stringMatching(`^${calling.taskId}: Not cancelled: an upstream call is under way`),
      '1 cancelled, 1 refused.',
      '',
    ])
    expect(await world.json(...many, '--status', 'queued')).toEqual({ cancelled: [], refused: [] })
  })
})

describe('darkroom task list', () => {
  it('shows task records with their account, and refuses an account that there is not', async () => {
    const live = await insertTask(world.pool)
    const failed = await insertFailedTask(world, live.accountId)
    const own = ['task', 'list', '--account', live.accountId]
    const unknown = await world.run('task', 'list', '--account', 'idel')
    expect(unknown).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^There is no account named "idel"\.\nInstallation: /),
    })
    expect(await world.json(...own, '--idempotency-key', 'none')).toEqual([])
    const all = await world.json<Listed[]>(...own)
    expect(all.map(({ task_id }) => task_id).toSorted()).toEqual(
      [live.taskId, failed.taskId].toSorted(),
    )
    expect(await world.json(...own, '--status', 'failed')).toEqual([
      {
        task_id: failed.taskId,
        model: 'familyb-image-2-vip',
        status: 'failed',
        created_at: expect.stringMatching(/^\d{4}-.*:\d\dZ$/),
        progress: 0,
        completed_at: expect.any(String),
        error: { code: 'upstream_error', message: expect.any(String) },
        account: live.accountId,
      },
    ])
    const none = ['--model', 'familya-3-pro-image']
    expect(await world.json(...own, ...none)).toEqual([])
    await world.pool.query(
      `update task set created_at = now() - interval '2 hours' where task_id = $1`,
      [live.taskId],
    )
    const { stdout } = await world.run(...own, '--status', 'failed')
    const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d'
    expect(stdout).toMatch(new RegExp(` ${time}  ${time}  upstream_error\n`))
    for (const hours of [-24, 0, 24]) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
      onTestFinished(() => void vi.useRealTimers())
      const recent = await world.json<Listed[]>(...own, '--since', '1h')
      expect(recent.map(({ task_id }) => task_id)).toEqual([failed.taskId])
      vi.useRealTimers()
    }
  })
})

describe('darkroom task list, for a task with an image', () => {
  it('shows the URL that the API returns, but only with SIGNING_KEYS and PUBLIC_URL', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const { answerId } = await openAttempt(world.attempts, taskId)
    await world.attempts.settleTask({ meta: testMeta(taskId), answerId })
    const task = await readTask(world.pool, taskId)
    if (task === undefined) throw new Error('no task')
    const secret = 'sixteen characters'
    const url = assetUrl(task, 'https://images.example.test', [{ id: 'k1', secret }])
    const signing = {
      SIGNING_KEYS: `k1:${secret},k0:another long one`,
      PUBLIC_URL: 'https://images.example.test/',
    }
    const listed = (given: Record<string, string>) =>
      darkroomJson<Listed[]>(['task', 'list', '--account', accountId], {
        ...world.environment,
        ...given,
      })
    const shown = [{ output: { assets: [{ type: 'image', url, mime_type: 'image/png' }] } }]
    expect(await listed(signing)).toMatchObject(shown)
    const running = tempFolder()
    await writeFile(
      join(running, 'runtime.json'),
      JSON.stringify({ environment: { ...world.environment, ...signing } }),
    )
    expect(await listed({ DATA_DIR: running })).toMatchObject(shown)
    for (const missing of ['SIGNING_KEYS', 'PUBLIC_URL']) {
      const [record] = await listed({ ...signing, [missing]: '' })
      expect(record).toMatchObject({ task_id: taskId, status: 'succeeded' })
      expect(record).not.toHaveProperty('output')
    }
  })
})

describe('darkroom task show', () => {
  it('shows a task with its page in the Temporal UI, and its story without its prompt', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    await openAttempt(world.attempts, taskId)
    const evidence = {
      reason: 'server_error',
      httpStatus: 502,
      upstreamRequestId: 'req-7',
      latencyMs: 12,
    } as const
    await world.attempts.closeAttempt({ taskId, n: 1, class: 'unknown', evidence })
    const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
    await world.attempts.failTask(taskId, failure, 1)
    await world.pool.query('update task set started_at = now() where task_id = $1', [taskId])
    expect(await world.json('task', 'show', taskId)).toMatchObject({
      task_id: taskId,
      account: accountId,
      status: 'failed',
      credits: 10,
      workflow_url: `http://127.0.0.1:8233/namespaces/default/workflows/image%2F${taskId}`,
    })
    const asText = await world.run('task', 'show', taskId)
    expect(asText.stdout).toMatch(/attempt_closed .*class=unknown .*http_status=502/)
    expect(asText.stdout).not.toContain('lighthouse')
  })
})

describe('darkroom task purge', () => {
  it('deletes what is stored of an ended task, and refuses a live and an unknown one with exit code 1 [delete-8]', async () => {
    const { taskId } = await insertFailedTask(world)
    await world.pool.query(
      `insert into upload (upload_id, kind, task_id, sweep_after) values ('in1', 'input', $1, 'infinity')`,
      [taskId],
    )
    const folder = join(world.environment['DATA_DIR'] ?? '', 'blobs', 'in1')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, '0'), 'bytes')
    expect(await world.json('task', 'purge', taskId)).toEqual({ purged: true })
    expect(existsSync(folder)).toBe(false)
    const { rows } = await world.pool.query(
      `select request from task where task_id = $1 union all select upload_id from upload where task_id = $1`,
      [taskId],
    )
    expect(rows).toEqual([{ request: null }])
    const live = await world.run('task', 'purge', (await insertTask(world.pool)).taskId)
    expect(live).toMatchObject({ exitCode: 1, stdout: '' })
    expect(live?.stderr).toContain('The task is not finished yet.')
    expect((await world.run('task', 'purge', newTaskId()))?.exitCode).toBe(1)
  })

  it('changes nothing where BLOB_STORE is the store of another installation [delete-8]', async () => {
    const { taskId } = await insertFailedTask(world)
    const other = { ...world.environment, BLOB_STORE: pathToFileURL(tempFolder()).href }
    const refused = await runDarkroom(['task', 'purge', taskId], other)
    expect(refused?.exitCode).toBe(1)
    expect(refused?.stderr).toContain('All processes must use one store.')
    // An open connection would keep the process of the command for half a minute.
    const connected = `select from pg_stat_activity
      where datname = current_database() and application_name = 'darkroom-cli'`
    await vi.waitFor(
      async () => expect((await world.pool.query(connected)).rowCount).toBe(0),
      10_000,
    )
    expect(await world.json('task', 'retry', taskId)).toMatchObject({ retry_of: taskId })
  })
})

describe('darkroom task cancel', () => {
  it('cancels nothing during a call, with exit code 1; the call is charged [money-6]', async () => {
    const { taskId, accountId } = await insertTask(world.pool)
    const { answerId } = await openAttempt(world.attempts, taskId)
    const run = await world.run('task', 'cancel', taskId, '--json')
    expect(run).toMatchObject({ exitCode: 1, stderr: '' })
    expect(JSON.parse(run.stdout)).toEqual({ cancelled: false })
    await world.attempts.settleTask({ meta: testMeta(taskId), answerId })
    expect(await balanceOf(world.pool, accountId)).toMatchObject({ held: 0, spent: 10 })
    const over = await world.run('task', 'cancel', taskId)
    expect(over).toMatchObject({ exitCode: 1, stdout: 'Not cancelled: the task is succeeded.\n' })
  })

  it('cancels a task while Temporal is unreachable', async () => {
    const { taskId } = await insertTask(world.pool)
    const unreachable = { ...world.environment, TEMPORAL_ADDRESS: '127.0.0.1:1' }
    expect(await darkroomJson(['task', 'cancel', taskId], unreachable)).toEqual({ cancelled: true })
  })
})
