import { beforeAll, describe, expect, it } from 'vitest'
import { createAdminClient } from '../support/service/adminClient.ts'
import { calmService } from '../support/service/calmService.ts'
import { darkroomJson } from '../support/service/darkroomCli.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { content, generate, taskIdOf } from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies, balanceOf, moneyOf } from '../support/database/money.ts'

const service = await calmService()
const web = 'familyb-image-2-web'
const flash = 'familya-3.1-flash-image'

async function owner() {
  const account = await service.account(10_000)
  const client = createClient(service.url, account.secret)
  const charged = async (taskId: string) =>
    (await client.lookup(taskId)).headers.get('x-credits-charged')
  return { account, client, charged, balance: () => balanceOf(service.pool, account.accountId) }
}

const sized = (width: number, height: number) =>
  `refunds [sim:pixels width=${width} height=${height}]`

describe('an image that is smaller than asked is charged as what it is', () => {
  it('by a task, whose record and image are like any other [money-13, account-6]', async () => {
    const { client, charged, balance } = await owner()
    const prompt = sized(1254, 1254)
    const submit = await client.submit(generateBody({ model: web, size: '2048x2048', prompt }))
    expect(submit.headers.get('x-credits-held')).toBe('60')
    const { task_id: taskId } = JSON.parse(await submit.text())
    expect((await client.ended(taskId)).status).toBe('succeeded')
    expect(await charged(taskId)).toBe('40')
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle', 'refund'])
    expect(await balance()).toEqual({ available: 9_960, held: 0, spent: 40 })
  })

  it('by a synchronous call, also when it is repeated with its key [account-7]', async () => {
    const { client, charged } = await owner()
    const fields = { model: web, size: '3840x2160', prompt: sized(2560, 1440) }
    const key = { 'idempotency-key': 'refunds sync' }
    for (let time = 0; time < 2; time += 1) {
      const answer = await generate(client, fields, key)
      expect([answer.status, answer.headers.get('x-credits-charged')]).toEqual([200, '60'])
      expect(await charged(taskIdOf(answer))).toBe('60')
    }
  })

  it('by both routes of family A', async () => {
    const { client, charged } = await owner()
    const generationConfig = { imageConfig: { imageSize: '4K', aspectRatio: '1:4' } }
    const body = { contents: [{ parts: [{ text: sized(512, 2064) }] }], generationConfig }
    const native = await content(client, 'generateContent', body, flash)
    expect([native.status, native.headers.get('x-credits-charged')]).toEqual([200, '67'])
    const later = await content(client, 'asyncGenerateContent', body, flash)
    const { task_id: taskId } = JSON.parse(await later.text())
    await client.ended(taskId)
    expect(await charged(taskId)).toBe('67')
  })

  it('and one that is as large costs what was held, as does one without a size', async () => {
    const { client, charged } = await owner()
    for (const [size, prompt, price] of [
      ['3840x2160', sized(2160, 3840), '90'],
      [undefined, sized(64, 64), '40'],
    ] as const) {
      const { task_id: taskId } = await client.accepted(generateBody({ model: web, size, prompt }))
      await client.ended(taskId)
      expect(await charged(taskId)).toBe(price)
    }
  })
})

describe('a refund', () => {
  const world = { taskId: '', retry: '' }
  let account: Awaited<ReturnType<typeof owner>>['account']
  beforeAll(async () => {
    const { client, account: own } = await owner()
    account = own
    // A failed task whose retry brings the small image: the retry has its own terms.
    const prompt = `refunds story [sim:moderation times=1] [sim:pixels width=1254 height=1250]`
    const body = generateBody({ model: web, size: '2048x2048', prompt })
    world.taskId = (await client.accepted(body)).task_id
    await client.ended(world.taskId)
    const retry = ['task', 'retry', world.taskId]
    world.retry = (await darkroomJson<{ task_id: string }>(retry, service.environment)).task_id
    await client.ended(world.retry)
  })

  it('is told by `task show`: what was asked for and delivered, held and charged', async () => {
    const story = await darkroomJson<{ timeline: readonly { event: string }[] }>(
      ['task', 'show', world.retry],
      service.environment,
    )
    expect(story).toMatchObject({ credits: 60, charged: 40, delivered: '1254x1250' })
    expect(story.timeline.find(({ event }) => event === 'refunded')).toMatchObject({
      credits: 20,
      reason: 'smaller_than_asked',
      asked: '2048x2048',
      delivered: '1254x1250',
      held: 60,
      charged: 40,
    })
  })

  it('is in the usage, the ledger of the account and its CSV, and in a metric by model [usage-3]', async () => {
    const authorization = `Bearer ${account.secret}`
    const usage = await fetch(`${service.url}/v1/usage`, { headers: { authorization } })
    expect(await usage.json()).toMatchObject({
      total: { tasks: { succeeded: 1, failed: 1 }, credits: 40 },
    })
    const admin = createAdminClient(service.adminUrl)
    const { json } = await admin.get(`/admin/v1/ledger?account=${account.name}`)
    const kinds = json.data.map((entry: { kind: string; credits: number }) => [
      entry.kind,
      entry.credits,
    ])
    expect(kinds.slice(0, 3)).toEqual([
      ['refund', 20],
      ['settle', 40],
      ['hold', 60],
    ])
    const csv = await admin.get(`/admin/v1/ledger?account=${account.name}`, { Accept: 'text/csv' })
    expect(csv.text).toContain(`total,,${account.name},refund,20\r\n`)
    const metrics = await (await fetch(`${service.workerUrl}/metrics`)).text()
    const count = (name: string) =>
      Number(new RegExp(`^${name}\\{model="${web}"\\} (\\d+)$`, 'm').exec(metrics)?.[1])
    expect(count('darkroom_refunded_images_total')).toBeGreaterThan(0)
    expect(count('darkroom_refunded_credits_total')).toBeGreaterThanOrEqual(20)
    await assertLedgerVerifies(service.pool)
  })
})
