import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { withPostgres } from '../../src/dev/postgres.ts'
import { migrate } from '../../src/store/schema/migrate.ts'
import { createClient } from '../support/clients/client.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { startTestService } from '../support/service/testService.ts'
import { embeddedStack } from '../support/stack/embeddedStack.ts'

const file = new URL('../../tools/postgres/roles.sql', import.meta.url)
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
const environment = { DATABASE_URL: urlOf('darkroom_app', 'darkroom') }
const service = await startTestService({ environment })

afterAll(async () => {
  await service.stop()
  await withPostgres(adminUrl, async (client) => {
    for (const name of names.slice(2)) {
      await client.query(`drop database if exists ${name}${suffix} with (force)`)
    }
    for (const name of names.slice(0, 4)) await client.query(`drop role if exists ${name}${suffix}`)
  })
})

it('the role of the application serves the API, the worker and the CLI', async () => {
  const cli = (...args: string[]) => darkroomJson<{ secret: string }>(args, service.environment)
  await cli('account', 'create', 'alice', '--credits', '1000')
  const { secret } = await cli('key', 'create', 'alice')
  const client = createClient(service.url, secret)
  const answer = await generate(client, { prompt: 'By a role that owns nothing' })
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
  const { task_id: taskId } = await client.accepted({
    model: 'familyb-image-2-vip',
    action: 'generate',
    prompt: 'Asynchronous',
  })
  expect((await client.ended(taskId)).status).toBe('succeeded')
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
