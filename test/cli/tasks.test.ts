import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { AttemptStore } from '../../src/domain/ports/attemptStore.ts'
import { newTaskId } from '../../src/domain/ids.ts'
import { assetUrl } from '../../src/http/assetUrl.ts'
import { createAccountStore, createTaskStore } from '../../src/wiring/stores.ts'
import { createTestAttempts } from '../support/attemptStore.ts'
import { darkroomJson, runDarkroom } from '../support/cli.ts'
import type { TestDatabase } from '../support/database.ts'
import { createTestDatabase } from '../support/database.ts'
import { balanceOf, insertTask } from '../support/insertTask.ts'
import { randomBytes } from 'node:crypto'

let database: TestDatabase
let attempts: AttemptStore
let environment: Record<string, string>

beforeAll(async () => {
  database = await createTestDatabase()
  attempts = await createTestAttempts(database.pool)
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-cli-'))
  const operatorFile = join(folder, 'config.json')
  const channel = { name: 'b-main', family: 'B', baseUrl: 'http://127.0.0.1:9', apiKeyEnv: 'KEY' }
  const price = { model: 'familyb-image-2-vip', credits: 30 }
  await writeFile(operatorFile, JSON.stringify({ channels: [channel], prices: [price] }))
  environment = {
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: folder,
    DARKROOM_CONFIG: operatorFile,
    TEMPORAL_UI_URL: 'http://127.0.0.1:8233/',
  }
  return async () => {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  }
})

async function failedTask(accountId?: string) {
  const inserted = await insertTask(database.pool, accountId === undefined ? {} : { accountId })
  const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
  await attempts.failTask(inserted.taskId, failure)
  return inserted
}

type Listed = { task_id: string; status: string; account: string; error?: { code: string } }

describe('darkroom task list', () => {
  it('is refused for an account that is not there, and is empty for one without tasks', async () => {
    const accounts = createAccountStore(database.pool)
    await accounts.createAccount({ accountId: 'acct_idle', name: 'idle', credits: 0 })
    expect(await darkroomJson(['task', 'list', '--account', 'idle'], environment)).toEqual([])
    const run = await runDarkroom(['task', 'list', '--account', 'idel'], environment)
    expect(run).toMatchObject({ exitCode: 1, stderr: 'There is no account named "idel".\n' })
  })

  it('lists the fields of the record and the account, by account, status, model and time', async () => {
    const live = await insertTask(database.pool)
    const failed = await failedTask(live.accountId)
    const own = ['task', 'list', '--account', live.accountId]
    const all = await darkroomJson<Listed[]>(own, environment)
    expect(all.map(({ task_id }) => task_id).toSorted()).toEqual(
      [live.taskId, failed.taskId].toSorted(),
    )
    expect(await darkroomJson([...own, '--status', 'failed'], environment)).toEqual([
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
    expect(await darkroomJson([...own, ...none], environment)).toEqual([])
    await database.pool.query(
      `update task set created_at = now() - interval '2 hours' where task_id = $1`,
      [live.taskId],
    )
    const { stdout } = await runDarkroom([...own, '--status', 'failed'], environment)
    const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d'
    expect(stdout).toMatch(new RegExp(` ${time}  ${time}  upstream_error\n`))
    const recent = await darkroomJson<Listed[]>([...own, '--since', '1h'], environment)
    expect(recent.map(({ task_id }) => task_id)).toEqual([failed.taskId])
  })
})

describe('darkroom task list with an image', () => {
  it('gives its address as the lookup does, where keys and base are at hand, else none', async () => {
    const { taskId, accountId } = await insertTask(database.pool)
    const begun = await attempts.beginAttempt({ taskId })
    if (begun.kind !== 'opened') throw new Error(begun.kind)
    const image = { mimeType: 'image/png', bytes: 3, sha256: 'ab', width: 1, height: 1 } as const
    const native = { response: {}, imagePath: [] }
    const meta = { version: 1, taskId, attempt: 1, image, native } as const
    await attempts.settleTask({ meta, answerId: begun.attempt.answerId })
    const task = await createTaskStore(database.pool).readTask(taskId)
    if (task === undefined) throw new Error('no task')
    const secret = 'sixteen characters'
    const url = assetUrl(task, 'https://images.example.test', [{ id: 'k1', secret }])
    const signing = {
      SIGNING_KEYS: `k1:${secret},k0:another long one`,
      PUBLIC_URL: 'https://images.example.test/',
    }
    const listed = (given: Record<string, string>) =>
      darkroomJson<Listed[]>(['task', 'list', '--account', accountId], { ...environment, ...given })
    const shown = [{ output: { assets: [{ type: 'image', url, mime_type: 'image/png' }] } }]
    expect(await listed(signing)).toMatchObject(shown)
    const running = await mkdtemp(join(tmpdir(), 'darkroom-cli-'))
    await writeFile(join(running, 'runtime.json'), JSON.stringify({ environment: signing }))
    expect(await listed({ DATA_DIR: running })).toMatchObject(shown)
    await rm(running, { recursive: true })
    for (const missing of ['SIGNING_KEYS', 'PUBLIC_URL']) {
      const [record] = await listed({ ...signing, [missing]: '' })
      expect(record).toMatchObject({ task_id: taskId, status: 'succeeded' })
      expect(record).not.toHaveProperty('output')
    }
  })
})

describe('darkroom task show', () => {
  it('tells what happened in order: attempts, ledger, end, and where Temporal shows it', async () => {
    const { taskId, accountId } = await insertTask(database.pool)
    const begun = await attempts.beginAttempt({ taskId })
    if (begun.kind !== 'opened') throw new Error(begun.kind)
    const evidence = {
      reason: 'server_error',
      httpStatus: 502,
      upstreamRequestId: 'req-7',
      latencyMs: 12,
    } as const
    await attempts.closeAttempt({ taskId, n: 1, class: 'unknown', evidence })
    const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
    await attempts.failTask(taskId, failure)
    const shown = await darkroomJson<{ timeline: { event: string }[] }>(
      ['task', 'show', taskId],
      environment,
    )
    expect(shown).toMatchObject({
      task_id: taskId,
      account: accountId,
      status: 'failed',
      credits: 10,
      workflow_url: `http://127.0.0.1:8233/namespaces/default/workflows/image%2F${taskId}`,
    })
    expect(shown.timeline.map(({ event }) => event).toSorted()).toEqual(
      ['accepted', 'attempt_closed', 'attempt_opened', 'failed', 'held', 'released'].toSorted(),
    )
    expect(shown.timeline.find(({ event }) => event === 'attempt_closed')).toMatchObject({
      attempt: 1,
      channel: 'b-main',
      class: 'unknown',
      reason: 'server_error',
      http_status: 502,
      upstream_request_id: 'req-7',
      latency_ms: 12,
    })
    const forPeople = await runDarkroom(['task', 'show', taskId], environment)
    expect(forPeople.stdout).toMatch(/attempt_closed .*class=unknown .*http_status=502/)
    expect(forPeople.stdout).not.toContain('lighthouse')
  })

  it('refuses a task that is not there', async () => {
    const run = await runDarkroom(['task', 'show', newTaskId(randomBytes)], environment)
    expect(run).toMatchObject({ exitCode: 1, stdout: '' })
  })
})

describe('darkroom task cancel', () => {
  it('cancels a queued task and releases its credits', async () => {
    const { taskId, accountId } = await insertTask(database.pool)
    const answer = await darkroomJson(['task', 'cancel', taskId], environment)
    expect(answer).toEqual({ cancelled: true })
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 1_000, held: 0 })
  })

  it('leaves a task with a call under way alone, with exit code 1', async () => {
    const { taskId } = await insertTask(database.pool)
    await attempts.beginAttempt({ taskId })
    const run = await runDarkroom(['task', 'cancel', taskId, '--json'], environment)
    expect(run.exitCode).toBe(1)
    expect(JSON.parse(run.stdout)).toEqual({ cancelled: false })
    const { rows } = await database.pool.query('select status from task where task_id = $1', [
      taskId,
    ])
    expect(rows).toEqual([{ status: 'processing' }])
  })
})

describe('darkroom task retry', () => {
  it('retries a failed task once, at the price of the operator file', async () => {
    const { taskId, accountId } = await failedTask()
    type Retried = { task_id: string; retry_of: string }
    const retried = await darkroomJson<Retried>(['task', 'retry', taskId], environment)
    expect(retried).toEqual({ task_id: expect.stringMatching(/^task_/), retry_of: taskId })
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ available: 970, held: 30 })
    const again = await runDarkroom(['task', 'retry', taskId], environment)
    expect(again.exitCode).toBe(1)
    expect(again.stderr).toContain(retried.task_id)
  })

  it('retries many by code, after a dry run that only tells, and leaves the retried alone', async () => {
    const { accountId } = await createRich()
    const ids = [(await failedTask(accountId)).taskId, (await failedTask(accountId)).taskId]
    const many = ['task', 'retry', '--code', 'upstream_error', '--since', '1h']
    type DryRun = { would_retry: string[] }
    const dry = await darkroomJson<DryRun>([...many, '--dry-run'], environment)
    expect(dry.would_retry).toEqual(expect.arrayContaining(ids))
    expect(await balanceOf(database.pool, accountId)).toMatchObject({ held: 0 })
    type Many = { retried: { retry_of: string }[]; refused: unknown[] }
    const done = await darkroomJson<Many>(many, environment)
    expect(done.retried.map(({ retry_of }) => retry_of)).toEqual(dry.would_retry)
    expect(done.refused).toEqual([])
    expect(await darkroomJson(many, environment)).toEqual({ retried: [], refused: [] })
  })
})

async function createRich() {
  const name = `rich-${randomBytes(4).toString('hex')}`
  await createAccountStore(database.pool).createAccount({ accountId: name, name, credits: 1_000 })
  return { accountId: name }
}

describe('darkroom channel', () => {
  it('pauses a channel with a reason, lists it so, and resumes it', async () => {
    const paused = await darkroomJson(
      ['channel', 'pause', 'b-main', '--reason', 'key rotation'],
      environment,
    )
    expect(paused).toMatchObject({ name: 'b-main', pause_reason: 'key rotation' })
    const { taskId } = await insertTask(database.pool)
    expect(await attempts.beginAttempt({ taskId })).toMatchObject({ reason: 'channel_paused' })
    const list = await runDarkroom(['channel', 'list'], environment)
    expect(list.stdout).toMatch(/^b-main +paused .* key rotation$/m)
    const resumed = await darkroomJson(['channel', 'resume', 'b-main'], environment)
    expect(resumed).toMatchObject({ paused_at: null, pause_reason: null })
    expect(await attempts.beginAttempt({ taskId })).toMatchObject({ kind: 'opened' })
    const unknown = await runDarkroom(['channel', 'pause', 'b-other'], environment)
    expect(unknown.exitCode).toBe(1)
  })
})
