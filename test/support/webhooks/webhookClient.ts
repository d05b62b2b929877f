import { defined } from '../../../src/domain/defined.ts'
import type { TestAccount } from '../service/testAccount.ts'
import { createClient } from '../clients/client.ts'
import { until } from '../timing.ts'

export type WebhookJson = {
  readonly webhook_id: string
  readonly url: string
  readonly events: readonly string[]
  readonly status: string
  readonly created_at: string
  readonly secret?: string
}

export type DeliveryJson = {
  readonly delivery_id: string
  readonly webhook_id: string
  readonly event: string
  readonly task_id?: string
  readonly status: string
  readonly created_at: string
  readonly attempts: readonly { at: string; http_status?: number; error?: string }[]
  readonly next_attempt_at?: string
}

/** An answer with its parsed body. */
export type Answered<Body> = { readonly status: number; readonly body: Body }

export type WebhookClient = ReturnType<typeof createWebhookClient>

/** Creates a client of the webhook routes of one account. */
export function createWebhookClient(
  api: { readonly url: string },
  { secret }: Pick<TestAccount, 'secret'>,
) {
  const client = createClient(api.url, secret)

  async function call<Body>(method: string, path: string, body?: unknown): Promise<Answered<Body>> {
    const answer = await fetch(`${api.url}${path}`, {
      method,
      headers: {
        authorization: client.authorization,
        ...defined({ 'content-type': body === undefined ? undefined : 'application/json' }),
      },
      ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
    })
    const parsed: Body = JSON.parse(await answer.text())
    return { status: answer.status, body: parsed }
  }

  async function deliveries(webhookId: string): Promise<readonly DeliveryJson[]> {
    const path = `/v1/webhooks/${webhookId}/deliveries?limit=100`
    return (await call<{ data: DeliveryJson[] }>('GET', path)).body.data
  }

  return {
    ...client,
    call,
    /** Registers a webhook, and returns it with its secret. Throws for any status but 201. */
    register: async (url: string, events?: readonly string[]) => {
      const given = { url, ...defined({ events }) }
      const answer = await call<Required<WebhookJson>>('POST', '/v1/webhooks', given)
      if (answer.status !== 201) throw new Error(JSON.stringify(answer))
      return answer.body
    },
    deliveries,
    /** Waits until the webhook has a delivery that fits. */
    seen: (webhookId: string, fits: (delivery: DeliveryJson) => boolean, limitMs?: number) =>
      until(
        `a delivery of ${webhookId}`,
        async () => (await deliveries(webhookId)).find(fits),
        limitMs,
      ),
  }
}
