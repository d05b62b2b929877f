import { defined } from '../../../src/domain/defined.ts'
import type { DarkroomProcess } from '../service/darkroomProcess.ts'
import type { TestAccount } from '../service/testAccount.ts'
import type { Client } from '../clients/client.ts'
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

/** A client of the webhook routes of one account. */
export type WebhookClient = Client & {
  readonly call: <Body>(method: string, path: string, body?: unknown) => Promise<Answered<Body>>
  /** Registers a webhook, and returns it with its secret. Throws for any status but 201. */
  readonly register: (url: string, events?: readonly string[]) => Promise<Required<WebhookJson>>
  readonly deliveries: (webhookId: string) => Promise<readonly DeliveryJson[]>
  /** Waits until the webhook has a delivery that fits. */
  readonly seen: (
    webhookId: string,
    fits: (delivery: DeliveryJson) => boolean,
    limitMs?: number,
  ) => Promise<DeliveryJson>
}

export function createWebhookClient(
  api: Pick<DarkroomProcess, 'url'>,
  { secret }: Pick<TestAccount, 'secret'>,
): WebhookClient {
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
    register: async (url, events) => {
      const given = { url, ...defined({ events }) }
      const answer = await call<Required<WebhookJson>>('POST', '/v1/webhooks', given)
      if (answer.status !== 201) throw new Error(JSON.stringify(answer))
      return answer.body
    },
    deliveries,
    seen: (webhookId, fits, limitMs) =>
      until(
        `a delivery of ${webhookId}`,
        async () => (await deliveries(webhookId)).find(fits),
        limitMs,
      ),
  }
}
