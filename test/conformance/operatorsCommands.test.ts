import type { Command } from 'commander'
import { once } from 'node:events'
import type { Server } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { darkroomJson, runDarkroom, closedParts } from '../support/service/darkroomCli.ts'
import type { CalmService } from '../support/service/calmService.ts'
import { calmService } from '../support/service/calmService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { tempFolder } from '../support/tempFolder.ts'
import type { DeliveryJson } from '../support/webhooks/webhookClient.ts'
import { createWebhookClient } from '../support/webhooks/webhookClient.ts'

type Key = { readonly key_id: string; readonly secret: string }

const account = 'operated'
const secret = 'What only the client knows'
const model = 'familyb-image-2-vip'

let service: CalmService
/** Two tasks, each refused once by the upstream and then rejected for its content. */
let failed: readonly [string, string]
beforeAll(async () => {
  service = await calmService()
  await json('account', 'create', account, '--credits', '5000', '--models', model)
  const key = await json<Key>('key', 'create', account)
  failed = await Promise.all([failedTask(key, 1), failedTask(key, 2)])
}, stackStartMsMax)

const darkroom = (...args: string[]) => runDarkroom(args, service.environment)
const json = <Answer>(...args: string[]) => darkroomJson<Answer>(args, service.environment)
const submit = (key: Key, body: unknown) => createClient(service.url, key.secret).submit(body)

async function failedTask(key: Key, n: number): Promise<string> {
  const client = createClient(service.url, key.secret)
  const faults = '[sim:429 retry-after=1 times=1][sim:moderation times=1]'
  const { task_id } = await client.accepted(generateBody({ prompt: `${secret} ${n} ${faults}` }))
  await client.ended(task_id, { everyMs: 50 })
  return task_id
}

describe('an API key', () => {
  it('is refused from the first request after it is revoked; other keys still work [auth-2]', async () => {
    const revoked = await json<Key>('key', 'create', account)
    const other = await json<Key>('key', 'create', account)
    expect((await submit(revoked, generateBody())).status).toBe(202)
    await json('key', 'revoke', revoked.key_id)
    const answer = await submit(revoked, generateBody())
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ error: { type: expect.any(String) } })
    expect((await submit(other, generateBody())).status).toBe(202)
  })

  it('is refused once the fraction of a day it was created for has passed', async () => {
    const days = 0.0001
    const brief = await json<Key>('key', 'create', account, '--expires-days', String(days))
    expect((await submit(brief, generateBody())).status).toBe(202)
    await sleep(days * 86_400_000)
    expect((await submit(brief, generateBody())).status).toBe(401)
  })

  it('returns 403 and holds nothing for a model that its account may not use', async () => {
    const key = await json<Key>('key', 'create', account)
    const before = await json<{ held: number }>('account', 'show', account)
    const answer = await submit(key, generateBody({ model: 'familya-3-pro-image' }))
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({ error: { code: 'access_denied' } })
    const after = await json<{ held: number }>('account', 'show', account)
    expect(after.held).toBeLessThanOrEqual(before.held)
  })
})

describe('the history of a task', () => {
  it('is written to a file without the prompt; the file replays without the service', async () => {
    const [taskId] = failed
    const file = join(tempFolder(), 'history.json')
    const written = await json('task', 'history', taskId, '--out', file)
    expect(written).toMatchObject({ task_id: taskId, file })
    const { stdout } = await darkroom('task', 'history', taskId, '--out', '-')
    expect(stdout).toContain('EVENT_TYPE_WORKFLOW_EXECUTION_FAILED')
    expect(stdout).toContain('content_policy_violation')
    expect(stdout).not.toContain(secret)
    const replayed = await darkroomJson(['task', 'replay', '--file', file], { DATA_DIR: '/none' })
    expect(replayed).toMatchObject({ replays: true })
    expect(await json('task', 'replay', taskId)).toEqual(replayed)
  })
})

describe('every command', () => {
  const commands = async (): Promise<readonly (readonly string[])[]> => {
    const key = await json<Key>('key', 'create', account)
    const { key_id } = key
    const [taskId, other] = failed
    const webhooks = createWebhookClient({ url: service.url }, key)
    const { webhook_id: webhook } = await webhooks.register('http://127.0.0.1:9/')
    const tested = await webhooks.call<DeliveryJson>('POST', `/v1/webhooks/${webhook}/test`)
    return [
      ['migrate'],
      ['account', 'create', 'another'],
      ['account', 'topup', 'another', '10'],
      ['account', 'show', 'another'],
      ['account', 'list'],
      ['key', 'create', 'another'],
      ['key', 'list', account],
      ['key', 'budget', key_id, '5000/day'],
      ['key', 'revoke', key_id],
      ['ledger', 'verify'],
      ['task', 'list', '--account', account, '--status', 'failed', '--since', '1h'],
      ['task', 'show', taskId],
      ['task', 'history', taskId, '--out', join(tempFolder(), 'of.json')],
      ['task', 'replay', taskId],
      ['task', 'retry', taskId],
      ['task', 'cancel', other],
      ['channel', 'list'],
      ['channel', 'pause', 'a-main'],
      ['channel', 'resume', 'a-main'],
      ['channel', 'check', 'a-main'],
      ['webhook', 'list', '--account', account],
      ['webhook', 'deliveries', webhook, '--status', 'pending'],
      ['webhook', 'redeliver', tested.body.delivery_id],
      ['webhook', 'disable', webhook],
      ['webhook', 'delete', webhook],
    ]
  }

  function leavesOf(command: Command, path: readonly string[] = []): readonly string[] {
    if (command.commands.length === 0) return [path.join(' ')]
    return command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]))
  }

  it('prints only JSON with `--json`', async () => {
    const all = await commands()
    const program = createProgram({
      parts: closedParts,
      show: () => {},
      withProgress: (_text, work) => work(),
    })
    const named = all.map((args) => args.slice(0, args[0] === 'migrate' ? 1 : 2).join(' '))
    expect(named.toSorted()).toEqual(leavesOf(program).toSorted())
    for (const args of all) {
      const { exitCode, stdout, stderr } = await darkroom(...args, '--json')
      // The other task has already failed, so its cancel is refused, but still prints an answer.
      expect({ args, exitCode, stderr }).toEqual({
        args,
        exitCode: args[1] === 'cancel' ? 1 : 0,
        stderr: '',
      })
      expect(typeof JSON.parse(stdout)).toBe('object')
    }
  }, 120_000)

  it('exits 1 with the reason in JSON when it is refused, and 2 on wrong usage', async () => {
    const unknown = `task_${'x'.repeat(32)}`
    const refused = [
      ['account', 'create', account],
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
    ]
    for (const args of refused) {
      const { exitCode, stdout, stderr } = await darkroom(...args, '--json')
      expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 1, stdout: '' })
      expect(JSON.parse(stderr)).toEqual({ error: { message: expect.any(String) } })
    }
    for (const args of [['account'], ['task', 'show', 'task_1'], ['account', 'topup', 'a', 'x']]) {
      expect(await darkroom(...args)).toMatchObject({ exitCode: 2, stdout: '' })
    }
  }, 90_000)
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
  const addresses = () => {
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : undefined
    return { refusing: '127.0.0.1:9', silent: `127.0.0.1:${port}` }
  }

  async function runTimed(args: readonly string[], changed: Readonly<Record<string, string>>) {
    const startedAt = performance.now()
    const run = await runDarkroom(args, { ...service.environment, ...changed })
    return { args, ...run, seconds: (performance.now() - startedAt) / 1_000 }
  }

  it('is named within 5 s by every command that needs the database', async () => {
    const needing = [
      ['account', 'list'],
      ['key', 'list', account],
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
    for (const args of needing) {
      const { exitCode, stderr, seconds } = await runTimed(args, { DATABASE_URL: url })
      expect({ args, exitCode }).toEqual({ args, exitCode: 1 })
      expect(stderr).toContain(`${addresses().refusing} (DATABASE_URL) cannot be reached`)
      expect(stderr).not.toContain('hidden')
      expect(seconds).toBeLessThan(5)
    }
  }, 90_000)

  it.each(['refusing', 'silent'] as const)(
    'is named within 5 s by every command that needs Temporal: %s',
    async (how) => {
      const address = addresses()[how]
      const needing = [['task', 'history', id], ['task', 'replay', id], ['migrate']]
      const runs = needing.map((args) => runTimed(args, { TEMPORAL_ADDRESS: address }))
      for (const { args, exitCode, stderr, seconds } of await Promise.all(runs)) {
        expect({ args, exitCode }).toEqual({ args, exitCode: 1 })
        expect(stderr).toContain(`${address} (TEMPORAL_ADDRESS)`)
        expect(seconds).toBeLessThan(5)
      }
    },
  )
})
