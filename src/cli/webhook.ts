import type { Command } from 'commander'
import { Option } from 'commander'
import { accountNamed, CommandError, existing, shortTime, table } from './answer.ts'
import { isoTime, isoTimeOrNull } from '../domain/isoTime.ts'
import { createCommand, createGroup } from './command.ts'
import type { CliContext } from './context.ts'
import { defined } from '../domain/defined.ts'
import type { ListedWebhook } from '../store/webhooks/webhookAdmin.ts'
import type { Delivery } from '../domain/webhooks/delivery.ts'
import { deliveryRecord } from '../domain/webhooks/delivery.ts'
import { parseLimit } from './parse.ts'

/** Makes the commands `webhook list`, `deliveries`, `redeliver`, `disable` and `delete`. */
export function webhookCommands(context: CliContext): Command {
  const makers = [list, deliveries, redeliver, disable, remove]
  return createGroup(context, 'webhook', 'webhooks of accounts and their deliveries', makers)
}

function list(context: CliContext): Command {
  return createCommand(
    'list',
    'list webhooks with their pending deliveries, newest first',
    'webhook list',
    'webhook list --account acme --json',
  )
    .option('--account <name>', 'only webhooks of this account')
    .action(async ({ account }: { readonly account?: string }) => {
      const database = await context.database()
      const webhooks = await database.webhooks.listAllWebhooks(account)
      if (webhooks.length === 0 && account !== undefined) {
        existing(await database.accounts.findAccount(account), accountNamed(account))
      }
      context.show({ json: webhooks.map(webhookJson), text: webhookTable(webhooks) })
    })
}

type DeliveriesOptions = { readonly limit: number; readonly status?: Delivery['status'] }

function deliveries(context: CliContext): Command {
  return createCommand(
    'deliveries <webhook>',
    'list the deliveries of a webhook with their tries, newest first',
    'webhook deliveries wh_0123456789ABCDEFGHIJKLMN --status pending',
  )
    .addOption(
      new Option('--status <status>', 'only deliveries with this status').choices([
        'pending',
        'delivered',
        'failed',
      ]),
    )
    .option('--limit <n>', 'maximum number of deliveries', parseLimit, 50)
    .action(async (webhookId: string, { limit, status }: DeliveriesOptions) => {
      const { webhooks } = await context.database()
      const listed = await webhooks.listDeliveries(webhookId, { limit, ...defined({ status }) })
      if (listed.length === 0) requireWebhook(await webhooks.hasWebhook(webhookId), webhookId)
      context.show({ json: listed.map(deliveryRecord), text: deliveryTable(listed) })
    })
}

function redeliver(context: CliContext): Command {
  return createCommand(
    'redeliver <delivery>',
    'deliver an event again, with the same id; refused while its webhook is disabled',
    'webhook redeliver whd_0123456789abcdef0123456789abcdef',
  ).action(async (deliveryId: string) => {
    const result = await (await context.database()).webhooks.redeliverAny(deliveryId)
    if (result.kind === 'missing') {
      throw new CommandError(`There is no delivery ${deliveryId}, or its webhook is deleted.`)
    }
    if (result.kind === 'disabled') {
      throw new CommandError('The webhook of this delivery is disabled. Its account can enable it.')
    }
    context.show({ json: deliveryRecord(result.delivery), text: 'The delivery is due now.' })
  })
}

function disable(context: CliContext): Command {
  return createCommand(
    'disable <webhook>',
    'disable a webhook: its pending deliveries fail; its account can enable it again',
    'webhook disable wh_0123456789ABCDEFGHIJKLMN',
  ).action(async (webhookId: string) => {
    const { webhooks } = await context.database()
    requireWebhook(await webhooks.endWebhook(webhookId, 'disabled'), webhookId)
    context.show({
      json: { webhook_id: webhookId, status: 'disabled' },
      text: 'Disabled. Its pending deliveries fail.',
    })
  })
}

function remove(context: CliContext): Command {
  return createCommand(
    'delete <webhook>',
    'delete a webhook: its pending deliveries fail; its account can register another',
    'webhook delete wh_0123456789ABCDEFGHIJKLMN',
  ).action(async (webhookId: string) => {
    const { webhooks } = await context.database()
    requireWebhook(await webhooks.endWebhook(webhookId, 'deleted'), webhookId)
    context.show({
      json: { webhook_id: webhookId, deleted: true },
      text: 'Deleted. Its pending deliveries fail.',
    })
  })
}

function requireWebhook(exists: boolean, webhookId: string): void {
  if (!exists) throw new CommandError(`There is no webhook ${webhookId}.`)
}

function webhookJson(webhook: ListedWebhook) {
  return {
    webhook_id: webhook.webhookId,
    account: webhook.account,
    url: webhook.url,
    status: webhook.status,
    key_id: webhook.keyId,
    created_at: isoTime(webhook.createdAtMs),
    pending: webhook.pending,
    oldest_pending_at: isoTimeOrNull(webhook.oldestPendingMs),
    failing_since: isoTimeOrNull(webhook.failingSinceMs),
  }
}

function webhookTable(webhooks: readonly ListedWebhook[]): string {
  return table(
    ['WEBHOOK', 'ACCOUNT', 'STATUS', 'KEY', 'PENDING', 'OLDEST PENDING', 'FAILING SINCE', 'URL'],
    webhooks.map((webhook) => [
      webhook.webhookId,
      webhook.account,
      webhook.status,
      webhook.keyId,
      webhook.pending,
      shortTime(webhook.oldestPendingMs),
      shortTime(webhook.failingSinceMs),
      webhook.url,
    ]),
    'No webhooks found.',
  )
}

function deliveryTable(listed: readonly Delivery[]): string {
  return table(
    ['DELIVERY', 'EVENT', 'TASK', 'STATUS', 'TRIES', 'LAST', 'CREATED', 'NEXT TRY'],
    listed.map(({ deliveryId, event, taskId, status, attempts, createdAtMs, nextAttemptAtMs }) => {
      const last = attempts.at(-1)
      return [
        deliveryId,
        event,
        taskId,
        status,
        attempts.length,
        last?.httpStatus ?? last?.error,
        shortTime(createdAtMs),
        shortTime(nextAttemptAtMs),
      ]
    }),
    'No deliveries found.',
  )
}
