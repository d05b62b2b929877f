import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withPostgres } from '../../src/dev/postgres.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import { createPool } from '../../src/store/connection/pool.ts'
import { migrate } from '../../src/store/schema/migrate.ts'
import type { TaskRecord } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { editBody, generateBody } from '../support/clients/requestBodies.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { moneyOf } from '../support/database/money.ts'
import { createPgBouncer, pgBouncerProgram } from '../support/database/pgBouncer.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { startTestService } from '../support/service/testService.ts'
import { embeddedStack } from '../support/stack/embeddedStack.ts'
import { until } from '../support/timing.ts'

// A service as in production, whose role owns nothing in PostgreSQL, behind PgBouncer in transaction mode where there
// is one, and whose tasks live for seconds.

const file = new URL('../../deploy/roles.sql', import.meta.url)
/** The names of the file, made unique: roles belong to the server, which all tests share. */
const suffix = `_${randomBytes(4).toString('hex')}`
const names = ['darkroom_owner', 'darkroom_app', 'temporal_visibility', 'temporal', 'darkroom']
const password = 'test0123'

let adminUrl = ''

function urlOf(role: string, database: string): string {
  const url = new URL(adminUrl)
  url.username = role + suffix
  url.password = password
  url.pathname = `/${database}${suffix}`
  return url.href
}

/** Runs the file as psql does, in so far as the file uses psql's own commands. */
async function runRolesFile(): Promise<void> {
  const sql = readFileSync(file, 'utf8')
    .replace(/^--.*$/gm, '')
    .replace(/^\\getenv .*$/gm, '')
    .replace(/:'\w+'/g, `'${password}'`)
    .replace(new RegExp(`\\b(${names.join('|')})\\b`, 'g'), `$1${suffix}`)
  const [onServer = '', inDatabase = ''] = sql.split(/^\\connect .*$/m)
  const run = async (url: string, statements: string) =>
    withPostgres(url, async (client) => {
      // One by one, because a database is not created in a transaction.
      for (const statement of statements.split(';')) await client.query(statement)
    })
  await run(adminUrl, onServer)
  const url = new URL(adminUrl)
  url.pathname = `/darkroom${suffix}`
  await run(url.href, inDatabase)
}

adminUrl = (await embeddedStack()).databaseUrl
await runRolesFile()
await migrate({ databaseUrl: urlOf('darkroom_owner', 'darkroom'), actor: 'cli:test@host' })
const pgBouncer = createPgBouncer()
const appUrl = urlOf('darkroom_app', 'darkroom')
const service = await startTestService({
  environment: {
    DATABASE_URL: existsSync(pgBouncerProgram) ? await pgBouncer.start(appUrl) : appUrl,
    DATABASE_SESSION_URL: appUrl,
    // Short enough to wait for, and long enough to read the image several times, also on a busy machine.
    RETENTION_SECONDS: '5',
    TOMBSTONE_SECONDS: '3600',
  },
})
const pool = createPool({
  databaseUrl: urlOf('darkroom_owner', 'darkroom'),
  applicationName: 'lifetimes',
  connectionsMax: 2,
  onConnectionError: () => {},
})
const cli = (...args: string[]) => darkroomJson<{ secret: string }>(args, service.environment)
await cli('account', 'create', 'alice', '--credits', '10000')
const client = createClient(service.url, (await cli('key', 'create', 'alice')).secret)

afterAll(async () => {
  await service.stop()
  await pgBouncer.stop()
  await pool.end()
  await withPostgres(adminUrl, async (client) => {
    for (const name of names.slice(2)) {
      await client.query(`drop database if exists ${name}${suffix} with (force)`)
    }
    for (const name of names.slice(0, 4)) await client.query(`drop role if exists ${name}${suffix}`)
  })
})

it('the role of the application serves the API, the worker and the CLI, also many calls of both kinds at once', async () => {
  const synchronous = Array.from({ length: 10 }, async (_, n) => {
    const answer = await generate(client, { prompt: `By a role that owns nothing ${n}` })
    await answer.arrayBuffer()
    return answer.status
  })
  const asynchronous = Array.from({ length: 5 }, async (_, n) => {
    const { task_id } = await client.accepted(generateBody({ prompt: `By a role, later ${n}` }))
    return (await client.ended(task_id)).status
  })
  expect(await Promise.all(synchronous)).toEqual(Array(10).fill(200))
  expect(await Promise.all(asynchronous)).toEqual(Array(5).fill('succeeded'))
  expect(await service.simulator.calls({ prompt: 'By a role' })).toHaveLength(15)
  expect(await cli('ledger', 'verify')).toMatchObject({ ok: true })
})

it.each([
  'alter table ledger disable trigger all',
  'truncate ledger',
  'drop table task',
  'create table own (n integer)',
  'create schema own',
  'create role own',
])('the role of the application cannot: %s', async (statement) => {
  const refused = withPostgres(urlOf('darkroom_app', 'darkroom'), (client) =>
    client.query(statement),
  )
  await expect(refused).rejects.toThrow(/must be owner|permission denied/)
})

it('migrate names the role that may not change the schema, and its variable', async () => {
  const ran = await runDarkroom(['migrate'], {
    DATABASE_URL: urlOf('darkroom_owner', 'darkroom'),
    DATABASE_SESSION_URL: urlOf('darkroom_app', 'darkroom'),
  })
  expect(ran?.exitCode).toBe(1)
  expect(ran?.stderr).toContain(
    `as darkroom_app${suffix} (DATABASE_SESSION_URL). Migrate as the role`,
  )
})

it.each([
  ['darkroom_app', 'temporal'],
  ['darkroom_owner', 'temporal_visibility'],
  ['temporal', 'darkroom'],
])('the role %s cannot connect to the database %s', async (role, database) => {
  const refused = withPostgres(urlOf(role, database), (client) => client.query('select 1'))
  await expect(refused).rejects.toThrow('permission denied for database')
})

const key = { 'idempotency-key': 'used again' }
const body = editBody({ prompt: 'Short-lived' })

/** The tests follow one task and depend on their order. */
describe('a task through its retention and tombstone', () => {
  let record: TaskRecord
  let taskId: string
  let assetUrl: string
  let uploads: readonly string[]
  let failedId: string
  beforeAll(async () => {
    taskId = (await client.accepted(body, key)).task_id
    failedId = (await client.accepted(generateBody({ prompt: 'x [sim:moderation]' }))).task_id
    record = await client.ended(taskId)
    assetUrl = record.output?.assets[0]?.url ?? ''
    uploads = await uploadsOf(taskId)
  })

  async function uploadsOf(taskId: string): Promise<readonly string[]> {
    const { rows } = await pool.query<{ id: string }>(
      'select upload_id as id from upload where task_id = $1',
      [taskId],
    )
    return rows.map(({ id }) => id)
  }

  it('serves the same bytes at the same URL until its retention ends [life-1]', async () => {
    expect(uploads.map((id) => existsSync(join(service.blobDir, id)))).toContain(true)
    expect((await fetch(`${assetUrl}&width=128&format=webp`)).status).toBe(200)
    const digests = new Set<string>()
    const urls = new Set<string>()
    let reads = 0
    for (;;) {
      const now: unknown = await (await client.lookup(taskId)).json()
      if (Object(now).status !== 'succeeded') break
      const answer = await fetch(assetUrl)
      if (answer.status !== 200) break
      urls.add(Object(now).output.assets[0].url)
      digests.add(
        createHash('sha256')
          .update(new Uint8Array(await answer.arrayBuffer()))
          .digest('hex'),
      )
      reads += 1
      await sleep(200)
    }
    expect(reads).toBeGreaterThan(3)
    expect(digests.size).toBe(1)
    expect([...urls]).toEqual([assetUrl])
  })

  it('then reads `expired` with 200 and without output, and still replays its key; a failed one stays failed [idem-9, life-2]', async () => {
    const answer = await client.lookup(taskId)
    expect(answer.status).toBe(200)
    const { output: _output, result: _result, ...rest } = record
    expect(await answer.json()).toEqual({ ...rest, status: 'expired' })
    expect((await fetch(assetUrl)).status).toBe(404)
    expect((await fetch(`${assetUrl}&width=128&format=webp`)).status).toBe(404)
    const result = await fetch(`${client.url}/v1/tasks/${taskId}/result`, {
      headers: { authorization: client.authorization },
    })
    expect(result.status).toBe(404)
    const failure = { code: 'content_policy_violation' }
    expect(await client.ended(failedId)).toMatchObject({ status: 'failed', error: failure })
    const replay = await client.submit(body, key)
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect(await replay.json()).toMatchObject({ task_id: taskId })
  })

  it('keeps its bytes a quarter of an hour longer, for downloads under way, and then leaves none in the blob store [life-4]', async () => {
    const { rows } = await pool.query(
      `select (extract(epoch from sweep_after - expires_at))::int as grace
       from upload join task on answer_id = upload_id where task.task_id = $1`,
      [taskId],
    )
    expect(rows).toEqual([{ grace: 900 }])
    expect(uploads.some((id) => existsSync(join(service.blobDir, id)))).toBe(true)
    await pool.query(
      `update upload set sweep_after = sweep_after - interval '15 minutes' where task_id = $1`,
      [taskId],
    )
    await until('the sweep', () =>
      uploads.every((id) => !existsSync(join(service.blobDir, id))) ? true : undefined,
    )
    await expect.poll(() => uploadsOf(taskId)).toEqual([])
    const kept = 'select 1 from task where task_id = $1 and native_response is not null'
    expect((await pool.query(kept, [taskId])).rowCount).toBe(0)
  })

  it('returns 404 after its tombstone; its key then makes a new task with a new image [idem-9, life-3]', async () => {
    const { rows } = await pool.query(
      `select (extract(epoch from purge_at - expires_at))::int as tombstone from task
       where task_id = $1`,
      [taskId],
    )
    expect(rows).toEqual([{ tombstone: 3_600 }])
    await pool.query('update task set purge_at = now() where task_id in ($1, $2)', [
      taskId,
      failedId,
    ])
    const lookUp = async () => {
      const answer = await client.lookup(taskId)
      return answer.status === 404 ? answer : undefined
    }
    const gone = await until('the end of the record', lookUp)
    expect(await gone.json()).toMatchObject({ error: { code: 'task_not_found' } })
    const again = await client.submit(body, key)
    expect(again.status).toBe(202)
    expect(again.headers.get('idempotent-replayed')).toBe('false')
    const next = Object(await again.json()).task_id
    expect(next).not.toBe(taskId)
    const renewed = await client.ended(next)
    expect(renewed.status).toBe('succeeded')
    expect(renewed.output?.assets[0]?.url).not.toBe(assetUrl)
    expect(await service.simulator.calls({ prompt: 'Short-lived' })).toHaveLength(2)
  })

  it('keeps its ledger entries after it is purged, and the ledger verifies', async () => {
    const left = async () =>
      (await pool.query('select from task where task_id in ($1, $2)', [taskId, failedId])).rowCount
    await expect.poll(left, { timeout: 30_000 }).toBe(0)
    expect(await moneyOf(pool, taskId)).toEqual(['hold', 'settle'])
    expect(await moneyOf(pool, failedId)).toEqual(['hold', 'release'])
    expect(await verifyLedger(pool)).toEqual([])
  })
})
