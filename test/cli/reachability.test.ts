import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createPgBouncer, pgBouncerProgram } from '../support/database/pgBouncer.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { embeddedStack } from '../support/stack/embeddedStack.ts'

const migrations = readdirSync(
  new URL('../../src/store/schema/migrations', import.meta.url),
).toSorted()

let database: TestDatabase
let dataDir: string

beforeAll(async () => {
  database = await createTestDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'darkroom-cli-'))
  return async () => {
    await database.close()
    await rm(dataDir, { recursive: true, force: true })
  }
})

describe('darkroom', () => {
  it.runIf(existsSync(pgBouncerProgram)).each([[['account', 'list']], [['migrate']]])(
    'names DATABASE_SESSION_URL behind PgBouncer in transaction mode: %j',
    async (command) => {
      const pgBouncer = createPgBouncer()
      onTestFinished(pgBouncer.stop)
      const pooled = await pgBouncer.start(database.databaseUrl)
      const environment = { DATA_DIR: dataDir, DATABASE_URL: pooled }
      const refused = await runDarkroom(command, environment)
      expect(refused.exitCode).toBe(1)
      expect(refused.stderr).toContain('Set DATABASE_SESSION_URL to PostgreSQL itself')
      const session = { ...environment, DATABASE_SESSION_URL: database.databaseUrl }
      expect((await runDarkroom(command, session)).exitCode).toBe(0)
    },
  )

  it('names a PostgreSQL that cannot be reached within 5 s, without its password', async () => {
    const DATABASE_URL = 'postgres://user:hidden@127.0.0.1:9/none'
    for (const command of [['account', 'list'], ['migrate']]) {
      const run = await runDarkroom(command, { DATA_DIR: dataDir, DATABASE_URL })
      expect(run).toMatchObject({ exitCode: 1, stdout: '' })
      expect(run.stderr).toContain('127.0.0.1:9 (DATABASE_URL) cannot be reached')
      expect(run.stderr).not.toContain('hidden')
      expect(run.seconds).toBeLessThan(5)
    }
  })

  it('names a Temporal that refuses connections or is silent within 5 s', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await once(silent, 'listening')
    for (const port of [9, Object(silent.address()).port]) {
      const TEMPORAL_ADDRESS = `127.0.0.1:${port}`
      const environment = {
        DATA_DIR: dataDir,
        DATABASE_URL: database.databaseUrl,
        TEMPORAL_ADDRESS,
      }
      for (const command of [['task', 'history', `task_${'0'.repeat(32)}`], ['migrate']]) {
        const run = await runDarkroom(command, environment)
        expect(run.exitCode).toBe(1)
        expect(run.stderr).toContain(`${TEMPORAL_ADDRESS} (TEMPORAL_ADDRESS)`)
        expect(run.seconds).toBeLessThan(5)
      }
    }
  })

  it('names DATABASE_URL and DATA_DIR when DATABASE_URL is not set and nothing is running', async () => {
    const run = await runDarkroom(['account', 'list', '--json'], { DATA_DIR: dataDir })
    expect(run.exitCode).toBe(1)
    expect(JSON.parse(run.stderr)).toEqual({
      error: {
        message: 'DATABASE_URL is not set.',
        installation: `the environment. No \`npm start\` on ${dataDir} runs`,
      },
    })
  })

  it('reads the settings that a running npm start wrote to DATA_DIR', async () => {
    const running = await mkdtemp(join(dataDir, 'running-'))
    const environment = { DATABASE_URL: database.databaseUrl }
    await writeFile(join(running, 'runtime.json'), JSON.stringify({ environment }))
    const { exitCode, stdout } = await runDarkroom(['account', 'list'], { DATA_DIR: running })
    expect(exitCode).toBe(0)
    expect(stdout).toContain('No accounts yet')
  })

  it('never makes a key with the pepper of another installation, and says which one it uses', async () => {
    const running = await mkdtemp(join(dataDir, 'other-'))
    const environment = {
      DATABASE_URL: 'postgres://user:hidden@127.0.0.1:9/other',
      KEY_PEPPER: 'pepper-of-the-other-0123456789',
    }
    await writeFile(join(running, 'runtime.json'), JSON.stringify({ environment }))
    const given = { DATA_DIR: running, DATABASE_URL: database.databaseUrl }
    expect((await runDarkroom(['account', 'create', 'mixed'], given)).exitCode).toBe(0)
    const { exitCode, stdout, stderr } = await runDarkroom(['key', 'create', 'mixed'], given)
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    const { host, pathname } = new URL(database.databaseUrl)
    expect(stderr).toBe(
      'KEY_PEPPER is not set. `npm start` sets it for its own processes.\n' +
        `Installation: the environment, PostgreSQL at ${host}${pathname}. ` +
        `It sets DATABASE_URL, so the \`npm start\` on ${running} is not used.\n`,
    )
  })

  it('names a broken runtime.json in one line', async () => {
    const broken = await mkdtemp(join(dataDir, 'broken-'))
    const path = join(broken, 'runtime.json')
    await writeFile(path, '{"environment": {"KEY_PEPPER": "hidden-pep')
    const { exitCode, stdout, stderr } = await runDarkroom(['account', 'list'], {
      DATA_DIR: broken,
      DATABASE_URL: database.databaseUrl,
    })
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^[^\n]+\n$/)
    expect(stderr).toContain(`${path} is broken`)
    expect(stderr).not.toContain('hidden')
  })

  it('asks for `darkroom migrate` on an empty database, and then works', async () => {
    const environment = { DATA_DIR: dataDir, DATABASE_URL: database.databaseUrl }
    await database.pool.query('drop schema public cascade; create schema public')
    const refused = await runDarkroom(['account', 'list'], environment)
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr).toContain('darkroom migrate')
    const migrated = await runDarkroom(['migrate', '--json'], environment)
    expect(JSON.parse(migrated.stdout)).toEqual({ applied: migrations, temporal: null })
    const links = { ...environment, ADMIN_PORT: 'tcp://10.0.0.1:80', PORT: 'x' }
    expect((await runDarkroom(['account', 'list'], links)).exitCode).toBe(0)
  })

  it('makes the namespace of Temporal with its search attributes by `darkroom migrate`, once', async () => {
    const { temporalAddress } = await embeddedStack()
    const namespace = `cli-${randomBytes(6).toString('hex')}`
    const environment = {
      DATA_DIR: dataDir,
      DATABASE_URL: database.databaseUrl,
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: namespace,
    }
    type Report = { temporal: { search_attributes: string[] } }
    const first = await darkroomJson<Report>(['migrate'], environment)
    expect(first.temporal).toMatchObject({ namespace, state: 'made' })
    expect(first.temporal.search_attributes).toContain('DarkroomAccount')
    const second = await darkroomJson<Report>(['migrate'], environment)
    expect(second.temporal).toEqual({ namespace, state: 'present', search_attributes: [] })
  })
})
