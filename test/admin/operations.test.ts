import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { ensureChannels } from '../../src/store/channels/channelAdmin.ts'
import { createClient } from '../support/clients/client.ts'
import { editBody, generateBody } from '../support/clients/requestBodies.ts'
import { redPixelPng } from '../support/images.ts'
import { adminSecrets, createAdminClient } from '../support/service/adminClient.ts'
import { calmService } from '../support/service/calmService.ts'
import { darkroomJson } from '../support/service/darkroomCli.ts'
import type { TestAccount } from '../support/service/testAccount.ts'

const service = await calmService()
const admin = createAdminClient(service.adminUrl)
const cli = (...args: string[]) => darkroomJson<unknown>(args, service.environment)

const newName = () => `admin-${randomUUID().slice(0, 8)}`

async function auditOf(target: string) {
  const { json } = await admin.get(`/admin/v1/audit?target=${encodeURIComponent(target)}`)
  return json.data
}

describe('accounts and keys', () => {
  it('are made, filled and limited, and each change has its row in the audit', async () => {
    const name = newName()
    const path = `/admin/v1/accounts/${name}`
    const created = await admin.post('/admin/v1/accounts', { name, credits: 100 })
    expect(created.status).toBe(201)
    expect((await admin.post('/admin/v1/accounts', { name })).json.error.code).toBe(
      'account_exists',
    )
    const topup = { topup_id: '=cmd|calc', credits: 50 }
    const [first, again] = [
      await admin.post(`${path}/topups`, topup),
      await admin.post(`${path}/topups`, topup),
    ]
    expect([first.status, first.json.account.available]).toEqual([200, 150])
    expect(again.json).toEqual(first.json)
    const other = await admin.post(`${path}/topups`, { ...topup, credits: 51 })
    expect([other.status, other.json.error.code]).toEqual([409, 'idempotency_conflict'])
    const limits = { requests: { limit: 60, period: 'minute' }, live_tasks: { limit: 5 } }
    const patched = await admin.patch(path, { models: ['familyb-image-2-vip'], limits })
    expect(patched.json).toMatchObject({ models: ['familyb-image-2-vip'], limits })
    expect((await admin.patch(path, { alert_below: 500 })).json.alert_below).toBe(500)
    expect((await admin.patch(path, {})).json).toMatchObject({ limits, alert_below: 500 })
    expect((await admin.patch(path, { alert_below: null })).json.alert_below).toBeNull()
    const key = await admin.post(`${path}/keys`, { expires_days: 1, budget: '5000/day' })
    expect([key.status, key.json.account, key.json.budget]).toEqual([201, name, '5000/day'])
    const ofKey = `/admin/v1/keys/${key.json.key_id}`
    expect((await admin.patch(ofKey, { budget: null })).json.budget).toBeNull()
    expect((await admin.post(`${ofKey}/revoke`)).json.revoked_at).not.toBeNull()
    expect((await admin.get(`${path}/keys`)).json.data).toHaveLength(1)
    const actions = [...(await auditOf(name)), ...(await auditOf(key.json.key_id))].map(
      ({ actor, action, outcome }) => `${actor} ${action} ${outcome}`,
    )
    expect(actions.toSorted()).toEqual(
      [
        'account.alert done',
        'account.alert done',
        'account.create account_exists',
        'account.create done',
        'account.limit done',
        'account.models done',
        'account.topup done',
        'account.topup done',
        'account.topup idempotency_conflict',
        'key.budget done',
        'key.create done',
        'key.revoke done',
      ].map((change) => `admin:boss ${change}`),
    )
    const { rows } = await service.pool.query('select params::text from audit')
    const secrets = [key.json.secret, ...Object.values(adminSecrets)]
    for (const secret of secrets) expect(JSON.stringify(rows)).not.toContain(secret)
  })

  it('that do not exist are 404, in JSON that no browser runs', async () => {
    const name = '<img src=x onerror=alert(1)>'
    const answer = await admin.get(`/admin/v1/accounts/${encodeURIComponent(name)}`)
    expect(answer.status).toBe(404)
    expect(answer.json.error).toMatchObject({ code: 'not_found', param: null })
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  })
})

describe('tasks', () => {
  let account: TestAccount
  let failed: string
  let made: string

  beforeAll(async () => {
    account = await service.account()
    const client = createClient(service.url, account.secret)
    const prompt = '<b>A cat</b>'
    const rejected = editBody({ prompt: 'A dog [sim:400]' })
    failed = (await client.accepted(rejected, { 'Idempotency-Key': 'order-17' })).task_id
    made = (await client.accepted(generateBody({ prompt }))).task_id
    await Promise.all([client.ended(failed), client.ended(made)])
  })

  it('are found by account, status and Idempotency-Key, and tell their story as the command line does', async () => {
    const found = await admin.get(
      `/admin/v1/tasks?account=${account.name}&status=failed&idempotency_key=order-17`,
    )
    expect(found.json.data).toMatchObject([
      { task_id: failed, account: account.name, key_id: account.keyId, status: 'failed' },
    ])
    const story = await admin.get(`/admin/v1/tasks/${failed}`)
    expect(story.json).toEqual(await cli('task', 'show', failed))
  })

  it('show prompt and images on request, which is recorded', async () => {
    const path = `/admin/v1/tasks/${failed}`
    const asked = await admin.get(`${path}/request`)
    expect(asked.json).toMatchObject({
      task_id: failed,
      prompt: 'A dog [sim:400]',
      action: 'edit',
      images: [{ n: 1, mime_type: 'image/png', bytes: redPixelPng.length }],
    })
    const read = (rest: string) =>
      fetch(`${service.adminUrl}${rest}`, {
        headers: { Authorization: `Bearer ${adminSecrets.boss}` },
      })
    const source = await read(`${path}/request/images/1`)
    expect(source.headers.get('content-type')).toBe('image/png')
    expect(Buffer.from(await source.arrayBuffer())).toEqual(redPixelPng)
    expect((await admin.get(`${path}/request/images/2`)).status).toBe(404)
    expect((await admin.get(`${path}/image`)).json.error.code).toBe('no_image')
    const image = await read(`/admin/v1/tasks/${made}/image`)
    expect([image.status, image.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect((await image.arrayBuffer()).byteLength).toBeGreaterThan(50)
    const small = await read(`/admin/v1/tasks/${made}/image?width=128&format=webp`)
    expect([small.status, small.headers.get('content-type')]).toEqual([200, 'image/webp'])
    const wrong = await admin.get(`/admin/v1/tasks/${made}/image?width=129`)
    expect([wrong.status, wrong.json.error.param]).toEqual([400, 'width'])
    expect((await admin.get(`/admin/v1/tasks/${made}/request`)).json.error.code).toBe('inputs_gone')
    const rows = [...(await auditOf(failed)), ...(await auditOf(made))]
    expect(rows.map(({ action, outcome }) => `${action} ${outcome}`).toSorted()).toEqual([
      'task.image done',
      'task.image done',
      'task.image no_image',
      'task.request done',
      'task.request done',
      'task.request done',
      'task.request inputs_gone',
    ])
    expect(JSON.stringify(rows)).not.toContain('A dog')
  })

  it('are purged, which is recorded [delete-8]', async () => {
    const client = createClient(service.url, account.secret)
    const { task_id: taskId } = await client.accepted(generateBody())
    const path = `/admin/v1/tasks/${taskId}`
    await client.ended(taskId)
    for (const each of [path, path]) {
      const purged = await admin.send('DELETE', each)
      expect([purged.status, purged.json]).toEqual([200, { purged: true }])
    }
    expect(await client.ended(taskId)).toMatchObject({ status: 'expired' })
    expect((await admin.get(`${path}/image`)).json.error.code).toBe('no_image')
    const viewer = createAdminClient(service.adminUrl, adminSecrets.guest)
    expect((await viewer.send('DELETE', path)).status).toBe(403)
    const rows = await auditOf(taskId)
    expect(rows.filter(({ action }: { action: string }) => action === 'task.purge')).toMatchObject([
      { actor: 'admin:boss', outcome: 'done' },
      { actor: 'admin:boss', outcome: 'done' },
    ])
  })

  it('are retried and cancelled, many at once after a dry run', async () => {
    const filter = { account: account.name }
    const dry = await admin.post('/admin/v1/tasks/retry', { filter, dry_run: true })
    expect(dry.json).toEqual({ would_retry: [failed] })
    const others = { filter: { ...filter, task_ids: [made] }, dry_run: true }
    const none = await admin.post('/admin/v1/tasks/retry', others)
    expect(none.json).toEqual({ would_retry: [] })
    const done = await admin.post('/admin/v1/tasks/retry', { filter, dry_run: false })
    expect(done.json).toMatchObject({ retried: [{ retry_of: failed }], refused: [] })
    const again = await admin.post(`/admin/v1/tasks/${failed}/retry`)
    expect([again.status, again.json.error.code]).toEqual([409, 'already_retried'])
    const late = await admin.post(`/admin/v1/tasks/${made}/cancel`)
    expect([late.status, late.json.error.code]).toEqual([409, 'succeeded'])
    const live = await admin.post('/admin/v1/tasks/cancel', { filter, dry_run: false, limit: 100 })
    expect(live.status).toBe(200)
    const created = { ...filter, created_before: '2026-01-01' }
    const before = await admin.post('/admin/v1/tasks/cancel', { filter: created, dry_run: true })
    expect(before.json).toEqual({ would_cancel: [] })
  })
})

describe('channels', () => {
  it('are paused and resumed, and read as the command line shows them', async () => {
    const name = newName()
    await ensureChannels(service.pool, [name])
    for (const reason of ['', ' ', 'x'.repeat(301)]) {
      const refused = await admin.post(`/admin/v1/channels/${name}/pause`, { reason })
      expect([refused.status, refused.json.error.param]).toEqual([400, 'reason'])
    }
    const paused = await admin.post(`/admin/v1/channels/${name}/pause`, { reason: 'maintenance' })
    expect(paused.json).toMatchObject({ name, pause_reason: 'maintenance', cooldowns: [] })
    const { json } = await admin.get('/admin/v1/channels')
    const shown: readonly { readonly name: string }[] = Object(await cli('channel', 'list'))
    expect(json.data.find((each: { name: string }) => each.name === name)).toEqual(
      shown.find((each) => each.name === name),
    )
    expect((await admin.post(`/admin/v1/channels/${name}/resume`)).json.paused_at).toBeNull()
    await service.pool.query('delete from channel where name = $1', [name])
    expect((await admin.post('/admin/v1/channels/a-main/check')).json.name).toBe('a-main')
  })
})

describe('money', () => {
  it('is read as JSON, and as CSV where that is asked for', async () => {
    const { name } = await service.account()
    const path = `/admin/v1/ledger?account=${name}`
    const { json } = await admin.get(path)
    expect(json).toMatchObject({ data: [{ account: name, kind: 'deposit' }], has_more: false })
    const csv = await admin.get(path, { Accept: 'text/csv' })
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(csv.text).toContain(`,${name},deposit,`)
    const usage = await admin.get('/admin/v1/usage?group_by=account,day', { Accept: 'text/csv' })
    expect(usage.text.split('\r\n')[0]).toBe('account,day,succeeded,failed,credits')
    for (const of of ['usage?', `ledger?account=${name}&`]) {
      const turned = await admin.get(`/admin/v1/${of}start_time=2026-02-01&end_time=2026-01-01`)
      expect([turned.status, turned.json.error.param]).toEqual([400, 'end_time'])
    }
  })
})

it('shows how the installation is doing, who waits, and what an id belongs to', async () => {
  expect((await admin.get('/admin/v1/overview')).json.days).toHaveLength(14)
  expect((await admin.get('/admin/v1/queue')).json.object).toBe('queue')
  const { accountId, name } = await service.account()
  expect((await admin.get(`/admin/v1/find?id=${accountId}`)).json.data).toEqual([
    { kind: 'account', id: accountId, account: name, matched: 'account_id' },
  ])
})

it('the ledger is verified', async () => {
  const { status, json } = await admin.post('/admin/v1/ledger/verify')
  expect([status, typeof json.ok]).toEqual([200, 'boolean'])
})
