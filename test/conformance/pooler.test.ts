import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../src/dev/stack/ports.ts'
import { keepsSession } from '../../src/store/connection/pooler.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies } from '../support/database/money.ts'
import { startDarkroomProcess } from '../support/service/darkroomProcess.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { until } from '../support/timing.ts'

const program = '/usr/sbin/pgbouncer'

/** Returns the settings that docs/operating.md gives for PgBouncer. */
function documentedSettings(): string {
  const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
  const [, settings] = /^```ini\n(.+?)^```$/ms.exec(page) ?? []
  if (settings === undefined) throw new Error('docs/operating.md gives no settings for PgBouncer')
  return settings
}

/** Starts PgBouncer, with the documented settings, in front of PostgreSQL, and returns the same address through it. */
async function startPgBouncer(databaseUrl: string): Promise<string> {
  const direct = new URL(databaseUrl)
  const port = await freePort()
  folder = await mkdtemp(join(tmpdir(), 'darkroom-pooler-'))
  const users = join(folder, 'users.txt')
  const settings = join(folder, 'pgbouncer.ini')
  await writeFile(users, `"${direct.username}" "${decodeURIComponent(direct.password)}"\n`)
  const values: Readonly<Record<string, string>> = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    auth_type: 'trust',
    auth_file: users,
    // Fewer than the tests have calls at once.
    default_pool_size: '10',
  }
  const documented = documentedSettings()
    .replace(/^darkroom = .*$/m, `* = host=${direct.hostname} port=${direct.port}`)
    .replace(/^(\w+) = .*$/gm, (line, name: string) =>
      values[name] === undefined ? line : `${name} = ${values[name]}`,
    )
  await writeFile(settings, `${documented}unix_socket_dir =\n`)
  // PgBouncer does not run as root.
  for (const path of [folder, users, settings]) await chmod(path, 0o755)
  const asOther = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  pgBouncer = spawn(program, [...asOther, settings], { stdio: 'ignore' })
  const through = new URL(databaseUrl)
  through.port = String(port)
  await until('PgBouncer', () => keepsSession(through.href).then(String, () => undefined))
  return through.href
}

let folder: string
let pgBouncer: ChildProcess | undefined
let service: TestService
let client: Client

describe.runIf(existsSync(program))('behind PgBouncer in transaction mode', () => {
  beforeAll(async () => {
    service = await startTestService({ pooler: startPgBouncer })
    client = createClient(service.url, (await service.account()).secret)
  }, stackStartMsMax)
  afterAll(async () => {
    await service.stop()
    pgBouncer?.kill()
    await rm(folder, { recursive: true, force: true })
  })

  it('tasks of all kinds succeed, also many at once', async () => {
    const synchronous = Array.from({ length: 20 }, async (_, n) => {
      const answer = await generate(client, { prompt: `Pooled ${n}` })
      await answer.arrayBuffer()
      return answer.status
    })
    const asynchronous = Array.from({ length: 10 }, async (_, n) => {
      const { task_id } = await client.accepted(generateBody({ prompt: `Pooled later ${n}` }))
      return (await client.ended(task_id)).status
    })
    expect(await Promise.all(synchronous)).toEqual(Array(20).fill(200))
    expect(await Promise.all(asynchronous)).toEqual(Array(10).fill('succeeded'))
    expect(service.simulator.calls({ prompt: 'Pooled' })).toHaveLength(30)
    await assertLedgerVerifies(service.pool)
  }, 30_000)

  it.each(['api', 'worker'] as const)('no process starts without sessions: %s', async (name) => {
    const pooled = service.environment['DATABASE_URL'] ?? ''
    expect(await keepsSession(pooled)).toBe(false)
    const started = startDarkroomProcess({
      name,
      environment: { ...service.environment, DATABASE_SESSION_URL: pooled, PORT: '0' },
      url: '',
      readyUrl: 'http://127.0.0.1:9/',
    })
    await expect(started).rejects.toThrow('Set DATABASE_SESSION_URL to PostgreSQL itself')
  })
})
