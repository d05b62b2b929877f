import type { Command } from 'commander'
import type { Pool } from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createProgram } from '../../src/cli/runCli.ts'
import { newTaskId } from '../../src/domain/ids.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { insertTestWebhook } from '../support/database/testWebhooks.ts'
import { closedContext, runDarkroom } from '../support/service/darkroomCli.ts'
import { insertFailedTask, openCliWorld, pepper, useCliWorld } from './openCliWorld.ts'

const world = useCliWorld()

type Audited = {
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly params: object
  readonly outcome: string
}

/** These change nothing, with what they are called with after the changes. */
const reading: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  'account show': async () => ['acme'],
  'account list': async () => [],
  'audit list': async () => [],
  'channel list': async () => [],
  'key list': async () => ['acme'],
  'task find': async () => ['acme'],
  'task list': async () => [],
  'task show': async () => [(await insertTask(world.pool)).taskId],
  'webhook list': async () => [],
  'webhook deliveries': async () => [await webhook()],
}

/** Each has its own test. */
const elsewhere = ['channel check', 'ledger verify', 'migrate', 'task history', 'task replay']

/** Every other command, in an order in which each can change something, with what it is called with. */
const changing: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  'account create': async () => ['acme', '--credits', '100'],
  'account topup': async () => ['acme', '50', '--id', 'invoice-1'],
  'account limit': async () => ['acme', '--requests', '60/minute', '--live-tasks', '50'],
  'account alert': async () => ['acme', '--below', '500'],
  'account models': async () => ['acme', 'familyb-image-2-vip'],
  'key create': async () => ['acme', '--budget', '50/day'],
  'key budget': async () => [await keyOf('acme'), 'none'],
  'key revoke': async () => [await keyOf('acme')],
  'task retry': async () => [(await failedTask()).taskId],
  'task cancel': async () => [(await insertTask(world.pool)).taskId],
  'task purge': async () => {
    // The first purge also notes which blob store belongs to the database.
    await world.run('task', 'purge', newTaskId())
    return [(await failedTask()).taskId]
  },
  'channel pause': async () => {
    await world.pool.query(`insert into channel (name) values ('b-main') on conflict do nothing`)
    return ['b-main', '--reason', 'a test']
  },
  'channel resume': async () => ['b-main'],
  'webhook redeliver': async () => [await delivery()],
  'webhook disable': async () => [await webhook()],
  'webhook delete': async () => [await webhook()],
}

async function keyOf(account: string): Promise<string> {
  const [key] = await world.json<{ key_id: string }[]>('key', 'list', account)
  return key?.key_id ?? ''
}

/** A failed task whose account can pay for a retry. */
async function failedTask() {
  const { accountId } = await insertTask(world.pool)
  const failed = await insertFailedTask(world, accountId)
  await world.pool.query(
    'update balance set available = available + 100, deposited = deposited + 100 where account_id = $1',
    [accountId],
  )
  return failed
}

async function webhook(): Promise<string> {
  const { accountId } = await insertTask(world.pool)
  return insertTestWebhook(world.pool, accountId)
}

async function delivery(): Promise<string> {
  const { accountId } = await insertTask(world.pool)
  const webhookId = await insertTestWebhook(world.pool, accountId)
  await insertFailedTask(world, accountId)
  const [made] = await world.json<{ delivery_id: string }[]>('webhook', 'deliveries', webhookId)
  return made?.delivery_id ?? ''
}

function leavesOf(command: Command, path = ''): readonly string[] {
  if (command.commands.length === 0) return [path]
  return command.commands.flatMap((child) => leavesOf(child, `${path} ${child.name()}`.trim()))
}

/** The rows of every table, as one text. */
async function contentOf(pool: Pool): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by tablename`,
  )
  const texts = tables.map(async ({ name }) => {
    const { rows } = await pool.query<{ text: string }>(
      `select coalesce(string_agg(t::text, '\n' order by t::text), '') as text from ${name} t`,
    )
    return `${name}\n${rows[0]?.text}`
  })
  return (await Promise.all(texts)).join('\n\n')
}

describe('the audit', () => {
  it('is about every command that is not known to read', () => {
    const known = [...elsewhere, ...Object.keys({ ...reading, ...changing })]
    expect(leavesOf(createProgram(closedContext)).toSorted()).toEqual(known.toSorted())
  })

  it('has a row of each change, or there is no change [audit-1]', async () => {
    await world.pool.query(
      `create function broken() returns trigger language plpgsql as
        $$ begin raise exception 'the audit is broken'; end $$`,
    )
    for (const [name, argsOf] of Object.entries(changing)) {
      const args = [...name.split(' '), ...(await argsOf())]
      const before = await contentOf(world.pool)
      await world.pool.query(
        'create trigger broken before insert on audit for each row execute function broken()',
      )
      expect(await world.run(...args)).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: expect.stringMatching(/^the audit is broken\nInstallation: /),
      })
      expect(`${name}\n${await contentOf(world.pool)}`).toBe(`${name}\n${before}`)
      await world.pool.query('drop trigger broken on audit')
      await world.json(...args)
      const [row] = await world.json<Audited[]>('audit', 'list')
      expect(row).toMatchObject({ action: name.replace(' ', '.'), outcome: 'done' })
      expect(row?.actor).toMatch(/^cli:.+@.+$/)
      expect([args[2], 'acme']).toContain(row?.target)
    }
  })

  it('needs no row of a command that reads, which prints only JSON with `--json` as all others do', async () => {
    const before = await world.json<readonly Audited[]>('audit', 'list')
    for (const [name, argsOf] of Object.entries(reading)) {
      await world.json(...name.split(' '), ...(await argsOf()))
    }
    expect(await world.json('audit', 'list')).toEqual(before)
  })

  it('has the row of a migration', async () => {
    const fresh = await openCliWorld()
    try {
      await fresh.pool.query('drop schema public cascade; create schema public')
      await fresh.json('migrate')
      expect(await fresh.json('audit', 'list')).toEqual([
        {
          audit_id: 1,
          at: expect.any(String),
          actor: expect.stringMatching(/^cli:.+@.+$/),
          action: 'migrate',
          target: '000001.sql',
          params: {},
          outcome: 'done',
        },
      ])
    } finally {
      await fresh.close()
    }
  })

  it('has a row of a refused change, with its code [audit-2]', async () => {
    expect((await world.run('account', 'topup', 'missing', '5')).exitCode).toBe(1)
    expect(await world.json('audit', 'list', '--target', 'missing')).toMatchObject([
      { action: 'account.topup', params: { credits: 5 }, outcome: 'not_found' },
    ])
    const { taskId } = await insertTask(world.pool)
    const before = await contentOf(world.pool)
    const refused = await world.run('task', 'retry', taskId)
    expect(refused.exitCode).toBe(1)
    const [row, ...others] = await world.json<Audited[]>('audit', 'list', '--target', taskId)
    expect([row?.outcome, others]).toEqual(['not_failed', []])
    const after = await contentOf(world.pool)
    expect(after.split('\n').filter((line) => !before.includes(line))).toEqual([
      expect.stringContaining(taskId),
    ])
  })

  it('has no secret [audit-3]', async () => {
    await world.json('account', 'create', 'secrets')
    const made = await world.json<{ key_id: string; secret: string }>('key', 'create', 'secrets')
    const { rows } = await world.pool.query<{ text: string }>('select a::text as text from audit a')
    const text = rows.map((row) => row.text).join('\n')
    expect(text).toContain(made.key_id)
    for (const secret of [made.secret, made.secret.slice(8), pepper.secret]) {
      expect(text).not.toContain(secret)
    }
  })

  it('names the operator as DARKROOM_ACTOR says, which goes before user and host', async () => {
    const environment = { ...world.environment, DARKROOM_ACTOR: ' Alice Ørsted ' }
    await runDarkroom(['account', 'create', 'acted'], environment)
    const [row] = await world.json<Audited[]>('audit', 'list', '--target', 'acted')
    expect(row?.actor).toBe('cli:Alice Ørsted')
  })

  it.each([['alice\nadmin:bob'], ['a'.repeat(101)], ['\u001b[2J'], ['\u202eecila']])(
    'refuses a DARKROOM_ACTOR that could mislead its readers: %j',
    async (DARKROOM_ACTOR) => {
      const environment = { ...world.environment, DARKROOM_ACTOR }
      const run = await runDarkroom(['account', 'create', 'misled'], environment)
      expect(run).toMatchObject({ exitCode: 1, stdout: '' })
      expect(run.stderr).toMatch(/^DARKROOM_ACTOR: must be 1 to 100 characters/)
      expect(await world.json('audit', 'list', '--target', 'misled')).toEqual([])
    },
  )

  it('cannot be changed [audit-4]', async () => {
    for (const sql of [`update audit set actor = 'x'`, 'delete from audit', 'truncate audit']) {
      await expect(world.pool.query(sql)).rejects.toThrow('the audit is append-only')
    }
  })

  it('is listed by target, actor, action and time', async () => {
    await world.json('account', 'create', 'listed')
    await world.json('account', 'topup', 'listed', '5')
    const own = ['audit', 'list', '--target', 'listed']
    const all = await world.json<Audited[]>(...own)
    expect(all.map(({ action }) => action)).toEqual(['account.topup', 'account.create'])
    expect(await world.json(...own, '--actor', all[0]?.actor ?? '')).toEqual(all)
    expect(await world.json(...own, '--actor', 'admin:a')).toEqual([])
    expect(await world.json(...own, '--action', 'account.create')).toEqual(all.slice(1))
    const newest = await world.run(...own, '--limit', '1', '--json')
    expect(JSON.parse(newest.stdout)).toEqual(all.slice(0, 1))
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 24 * 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    expect(await world.json(...own, '--since', '1h')).toEqual(all)
    vi.useRealTimers()
    expect(await world.json(...own, '--since', '2999-01-01')).toEqual([])
    const { stdout } = await world.run(...own)
    expect(stdout).toMatch(/account\.topup +listed +done +credits=5\n/)
  })
})

describe('what others wrote', () => {
  it('cannot control the terminal of an operator [operate-1]', async () => {
    const evil = 'a\u001B[2Jb\u009B31mc\u202Ed\u007F\nroot'
    const { accountId } = await insertTask(world.pool)
    await world.pool.query('update account set name = $2 where account_id = $1', [accountId, evil])
    await insertTestWebhook(world.pool, accountId, evil)
    await world.pool.query('insert into channel values ($1, now(), $1)', [evil])
    await world.run('account', 'topup', evil, '5')
    const commands = [
      ['account', 'list'],
      ['account', 'show', evil],
      ['channel', 'list'],
      ['webhook', 'list'],
      ['task', 'list'],
      ['audit', 'list'],
    ]
    const harmless = '\\u001b[2Jb\\u009b31mc\\u202ed\\u007f'
    const controls = /(?!\n)[\p{Cc}\u202E]/u
    for (const command of commands) {
      const text = await world.run(...command)
      expect(text.stdout).toContain(harmless)
      expect(text.stdout).not.toMatch(controls)
      expect(text.stdout).not.toMatch(/^root/m)
      const json = await world.run(...command, '--json')
      expect(json.stdout).toContain(harmless)
      expect(json.stdout).not.toMatch(controls)
      const value: unknown = JSON.parse(json.stdout)
      expect(JSON.stringify(value)).toContain(JSON.stringify(evil).slice(1, -1))
    }
    for (const more of [[], ['--json']]) {
      const { stderr } = await world.run('account', 'show', `${evil}?`, ...more)
      expect(stderr).toContain(harmless.slice(1))
      expect(stderr).not.toMatch(controls)
    }
  })
})
