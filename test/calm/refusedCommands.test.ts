import { once } from 'node:events'
import type { Server } from 'node:net'
import { createServer } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { calmService } from '../support/service/calmService.ts'
import { runCommands } from '../support/service/darkroomCli.ts'

const service = await calmService()
const account = await service.account()

describe('a command', () => {
  it('exits 1 with the reason in JSON when it is refused, and 2 on wrong usage', async () => {
    const unknown = `task_${'x'.repeat(32)}`
    const refused = [
      ['account', 'create', account.name],
      ['account', 'show', 'nobody'],
      ['key', 'create', 'nobody'],
      ['key', 'revoke', 'key_none'],
      ['task', 'show', unknown],
      ['task', 'history', unknown],
      ['task', 'retry', unknown],
      ['channel', 'pause', 'none'],
      ['webhook', 'list', '--account', 'nobody'],
      ['webhook', 'redeliver', 'whd_none'],
      ['webhook', 'disable', 'wh_none'],
    ].map((args) => [...args, '--json'])
    for (const run of await runCommands(refused, service.environment)) {
      const { args, exitCode, stdout, stderr } = run
      expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 1, stdout: '' })
      expect(JSON.parse(stderr)).toEqual({ error: { message: expect.any(String) } })
    }
    const wrong = [['account'], ['task', 'show', 'task_1'], ['account', 'topup', 'a', 'x']]
    for (const run of await runCommands(wrong, service.environment)) {
      expect(run).toMatchObject({ exitCode: 2, stdout: '' })
    }
  })
})

describe('a PostgreSQL or Temporal server that cannot be reached', () => {
  const id = `task_${'0'.repeat(32)}`
  let silent: Server
  beforeAll(async () => {
    silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    return () => void silent.close()
  })

  /** `refusing` refuses connections. `silent` accepts them and never answers. */
  const addresses = () => ({
    refusing: '127.0.0.1:9',
    silent: `127.0.0.1:${Object(silent.address()).port}`,
  })

  it('is named within 5 s by every command that needs the database', async () => {
    const needing = [
      ['account', 'list'],
      ['key', 'list', account.name],
      ['key', 'budget', 'key_none', 'none'],
      ['key', 'revoke', 'key_none'],
      ['ledger', 'verify'],
      ['task', 'show', id],
      ['task', 'cancel', id],
      ['task', 'retry', id],
      ['channel', 'list'],
      ['migrate'],
    ]
    const url = `postgres://user:hidden@${addresses().refusing}/none`
    const environment = { ...service.environment, DATABASE_URL: url }
    for (const run of await runCommands(needing, environment)) {
      const { args, exitCode, stderr, seconds } = run
      expect({ args, exitCode }).toEqual({ args, exitCode: 1 })
      expect(stderr).toContain(`${addresses().refusing} (DATABASE_URL) cannot be reached`)
      expect(stderr).not.toContain('hidden')
      expect(seconds).toBeLessThan(5)
    }
  })

  it.each(['refusing', 'silent'] as const)(
    'is named within 5 s by every command that needs Temporal: %s',
    async (how) => {
      const address = addresses()[how]
      const needing = [['task', 'history', id], ['task', 'replay', id], ['migrate']]
      const environment = { ...service.environment, TEMPORAL_ADDRESS: address }
      for (const run of await runCommands(needing, environment)) {
        const { args, exitCode, stderr, seconds } = run
        expect({ args, exitCode }).toEqual({ args, exitCode: 1 })
        expect(stderr).toContain(`${address} (TEMPORAL_ADDRESS)`)
        expect(seconds).toBeLessThan(5)
      }
    },
  )
})
