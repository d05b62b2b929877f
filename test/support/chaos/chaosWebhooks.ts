import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import type { Seeded } from '../seeded.ts'
import type { TestAccount } from '../service/testAccount.ts'
import type { TestService } from '../service/testService.ts'
import { until } from '../timing.ts'
import type { Behaviour, Received } from '../webhooks/receiver.ts'
import { headersOf, startReceiver } from '../webhooks/receiver.ts'
import { createWebhookClient } from '../webhooks/webhookClient.ts'

/** What a receiver in trouble does. 410 is left out: it would disable the webhook for good. */
export const behaviours: readonly Behaviour[] = [
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

/** How long after its webhook was deleted a try that was under way can still arrive. */
const tryMsMax = 16_000

type Hook = { readonly path: string; readonly webhookId: string; readonly secret: string }

/** Registers a webhook for each account, at a receiver that fails in every way until it is told to heal. */
export async function startChaosWebhooks(
  service: TestService,
  accounts: readonly TestAccount[],
  chance: Seeded,
) {
  const receiver = await startReceiver()
  let healed = false
  receiver.behave = (request, response, body) => {
    const behaviour = healed ? 200 : chance.pick(behaviours)
    if (typeof behaviour === 'number') response.writeHead(behaviour).end()
    else behaviour(request, response, body)
  }
  const hooks: Hook[] = []
  for (const [n, account] of accounts.entries()) {
    const path = `/${n}`
    const client = createWebhookClient({ url: service.url }, account)
    const { webhook_id: webhookId, secret } = await client.register(`${receiver.url}${path}`)
    hooks.push({ path, webhookId, secret })
  }
  const [deleted, ...kept] = hooks
  let deletedAtMs = Infinity

  /** Deletes the webhook of the first account, at any API that answers. */
  async function deleteFirst(): Promise<void> {
    deletedAtMs = await until(
      'the deletion',
      async () => {
        for (const { url } of service.apis) {
          const answer = await fetch(`${url}/v1/webhooks/${deleted?.webhookId}`, {
            method: 'DELETE',
            headers: { authorization: `Bearer ${accounts[0]?.secret}` },
            signal: AbortSignal.timeout(2_000),
          }).catch(() => undefined)
          // 404: an earlier request deleted it, and its answer was lost.
          if (answer?.status === 200 || answer?.status === 404) return Date.now()
        }
        return undefined
      },
      60_000,
    )
  }

  /**
   * Lets the receiver heal, and waits until every end is delivered. Returns what was broken: an end that was not
   * delivered, two events with one id, a wrong signature, an event of another account, a delivery after the deletion.
   */
  async function broken(limitMs: number): Promise<readonly string[]> {
    healed = true
    receiver.hangUp()
    const missing = await untilDelivered(service, kept, limitMs)
    const late = receiver.received.filter(
      ({ path, atMs }) => path === deleted?.path && atMs > deletedAtMs + tryMsMax,
    )
    return [
      ...missing,
      ...misdelivered(receiver.received, hooks),
      ...late.map(() => 'a delivery arrived after its webhook was deleted'),
    ]
  }

  return { deleteFirst, broken, received: receiver.received, close: receiver.close }
}

/**
 * Waits until every end is delivered. Makes deliveries that wait for their next try due now, and shortens the
 * claims of workers, some of which are lost.
 */
async function untilDelivered(
  { pool }: TestService,
  kept: readonly Hook[],
  limitMs: number,
): Promise<readonly string[]> {
  const ids = kept.map(({ webhookId }) => webhookId)
  const endsAtMs = performance.now() + limitMs
  for (;;) {
    await pool.query(
      `update webhook_delivery set next_attempt_at = least(next_attempt_at, now()),
         claimed_until = least(claimed_until, now() + interval '3 seconds')
       where status = 'pending' and webhook_id = any($1)`,
      [ids],
    )
    const { rowCount } = await pool.query(
      `select from task join webhook using (account_id)
       left join webhook_delivery d using (webhook_id, task_id)
       where webhook_id = any($1) and task.completed_at > webhook.created_at
         and coalesce(d.status, '') <> 'delivered'`,
      [ids],
    )
    if (rowCount === 0) return []
    if (performance.now() > endsAtMs) return [`${rowCount} ends are not delivered`]
    await sleep(1_000)
  }
}

/** Returns what is wrong with the requests that arrived. */
function misdelivered(received: readonly Received[], hooks: readonly Hook[]): readonly string[] {
  const events = new Map<string, string>()
  const broken: string[] = []
  for (const request of received) {
    const { path, body } = request
    const headers = headersOf(request)
    const id = String(headers['webhook-id'])
    try {
      const secret = hooks.find((each) => each.path === path)?.secret ?? ''
      new Webhook(secret).verify(body, headers)
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
