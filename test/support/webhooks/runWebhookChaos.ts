import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { strikeFaults } from '../chaos/chaosFaults.ts'
import type { ChaosOptions, ChaosReport } from '../chaos/runChaos.ts'
import { generateBody } from '../clients/requestBodies.ts'
import { createSeeded } from '../seeded.ts'
import type { TestService } from '../service/testService.ts'
import { until } from '../timing.ts'
import type { Behaviour, Received } from './receiver.ts'
import { startReceiver } from './receiver.ts'
import type { WebhookClient } from './webhookClient.ts'
import { createWebhookClient } from './webhookClient.ts'

/** One client submits all tasks. */
type WebhookChaosOptions = Omit<ChaosOptions, 'clients'> & {
  /** Called when the webhooks are registered. */
  readonly onRegistered?: () => void
}

type Account = {
  readonly client: WebhookClient
  readonly path: string
  readonly webhookId: string
  readonly secret: string
}

/** How long after its webhook was deleted a try that was under way can still arrive. */
const tryMsMax = 16_000

/**
 * Submits tasks of several accounts while faults strike and their receivers fail in every way. Then the receivers
 * heal, and the waits of the rows are skipped. Returns what was broken: an end that was not delivered, two events
 * with one id, a wrong signature, an event of another account, a delivery after the deletion of its webhook.
 */
export async function runWebhookChaos(options: WebhookChaosOptions): Promise<ChaosReport> {
  const { service } = options
  const chance = createSeeded(options.seed)
  const receiver = await startReceiver()
  let healed = false
  receiver.behave = (request, response, body) => {
    const behaviour = healed ? 200 : chance.pick(behaviours)
    if (typeof behaviour === 'number') response.writeHead(behaviour).end()
    else behaviour(request, response, body)
  }
  try {
    const accounts: Account[] = []
    for (let n = 0; n < 4; n += 1) {
      const client = createWebhookClient({ url: service.url }, await service.account())
      const path = `/${n}`
      const { webhook_id: webhookId, secret } = await client.register(`${receiver.url}${path}`)
      accounts.push({ client, path, webhookId, secret })
    }
    options.onRegistered?.()
    const [deleted, ...kept] = accounts
    if (deleted === undefined) throw new Error('Bug: no accounts')
    const over = new AbortController()
    const submitting = submitTasks(options, accounts, over.signal)
    const striking = strikeFaults(options)
    await sleep(options.strikeMs / 2)
    const deletedAtMs = await deleteWebhook(deleted, service)
    const struck = await striking
    over.abort()
    const submitted = await submitting
    healed = true
    receiver.hangUp()
    const broken = await drain(options, kept)
    broken.push(
      ...misdelivered(receiver.received, accounts),
      ...receiver.received
        .filter(({ path, atMs }) => path === deleted.path && atMs > deletedAtMs + tryMsMax)
        .map(() => 'a delivery arrived after its webhook was deleted'),
    )
    return { broken, figures: { struck, submitted, received: receiver.received.length } }
  } finally {
    await receiver.close()
  }
}

/** What a receiver in trouble does. 410 is left out: it would disable the webhook for good. */
const behaviours: readonly Behaviour[] = [
  200,
  500,
  503,
  301,
  404,
  // It never answers.
  () => {},
  (request) => request.socket.destroy(),
  (_request, response) => {
    // It answers byte by byte, and never ends its answer.
    response.writeHead(200, { 'content-length': '1000000' })
    const timer = setInterval(() => response.write('x'), 50)
    response.once('close', () => clearInterval(timer))
  },
  (_request, response) => {
    // It closes in the middle of its answer.
    response.writeHead(503, { 'content-length': '100' }).write('half')
    setTimeout(() => response.destroy(), 20)
  },
]

async function submitTasks(
  { service, tasks, seed }: WebhookChaosOptions,
  accounts: readonly Account[],
  over: AbortSignal,
): Promise<number> {
  const chance = createSeeded(seed + 1)
  let submitted = 0
  for (let n = 0; n < tasks && !over.aborted; n += 1) {
    const { authorization } = chance.pick(accounts).client
    const prompt = chance.pick(['a lighthouse', '[sim:status=400] a lighthouse'])
    const answer = await fetch(`${chance.pick(service.apis).url}/v1/images/tasks`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(generateBody({ prompt })),
    }).catch(() => undefined)
    await answer?.text().catch(() => {})
    if (answer?.status === 202) submitted += 1
    await sleep(50)
  }
  return submitted
}

/** Deletes the webhook of an account, at any API that answers. Returns when this was, in epoch milliseconds. */
async function deleteWebhook(
  { webhookId, client }: Account,
  service: TestService,
): Promise<number> {
  return until('the deletion', async () => {
    for (const { url } of service.apis) {
      const answer = await fetch(`${url}/v1/webhooks/${webhookId}`, {
        method: 'DELETE',
        headers: { authorization: client.authorization },
        signal: AbortSignal.timeout(2_000),
      }).catch(() => undefined)
      // 404: an earlier request deleted it, and its answer was lost.
      if (answer?.status === 200 || answer?.status === 404) return Date.now()
    }
    return undefined
  })
}

/**
 * Waits until every end is delivered. Makes deliveries that wait for their next try due now, and shortens the
 * claims of workers, some of which are lost.
 */
async function drain(
  { service, drainMs }: WebhookChaosOptions,
  kept: readonly Account[],
): Promise<string[]> {
  const { pool } = service
  const ids = kept.map(({ webhookId }) => webhookId)
  const endsAtMs = performance.now() + drainMs
  for (;;) {
    const skipped = pool.query(
      `update webhook_delivery set next_attempt_at = least(next_attempt_at, now()),
         claimed_until = least(claimed_until, now() + interval '3 seconds')
       where status = 'pending' and webhook_id = any($1)`,
      [ids],
    )
    await skipped.catch(() => {})
    const { rows } = await pool.query<{ live: number; missing: number }>(
      `select (select count(*)::int from task where completed_at is null) as live,
         (select count(*)::int from task join webhook using (account_id)
          left join webhook_delivery d using (webhook_id, task_id)
          where webhook_id = any($1) and task.completed_at > webhook.created_at
            and coalesce(d.status, '') <> 'delivered') as missing`,
      [ids],
    )
    const [row] = rows
    if (row?.live === 0 && row.missing === 0) return []
    if (performance.now() > endsAtMs) {
      return [`${row?.live} tasks are live and ${row?.missing} ends are not delivered`]
    }
    await sleep(1_000)
  }
}

/** Returns what is wrong with the requests that arrived. */
function misdelivered(received: readonly Received[], accounts: readonly Account[]): string[] {
  const events = new Map<string, string>()
  const broken: string[] = []
  for (const { path, headers, body } of received) {
    const account = accounts.find((each) => each.path === path)
    const id = String(headers['webhook-id'])
    const given = {
      'webhook-id': id,
      'webhook-timestamp': String(headers['webhook-timestamp']),
      'webhook-signature': String(headers['webhook-signature']),
    }
    try {
      new Webhook(account?.secret ?? '').verify(body, given)
    } catch (error) {
      // The package refuses what is older than five minutes, and a long run is.
      const reason = error instanceof Error ? error.message : ''
      if (!reason.includes('timestamp')) broken.push(`${id} on ${path}: ${reason}`)
    }
    const event = `${path} ${body}`
    if ((events.get(id) ?? event) !== event) broken.push(`${id} has two events`)
    events.set(id, event)
  }
  return broken
}
