import type { Command } from 'commander'
import { Option } from 'commander'
import type { Answer } from './answer.ts'
import { shortTime, table, valueOf } from './answer.ts'
import { createCommand, createGroup } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import type { ManyOptions } from './many.ts'
import { dryRunAnswer, manyAnswer, requireOneOrMany, withManyOptions } from './many.ts'
import { defined } from '../domain/defined.ts'
import type { RedeliveredMany } from '../operations/webhooks.ts'
import * as webhooks from '../operations/webhooks.ts'
import type { DeliveryJson, DeliveryPage } from '../store/webhooks/deliveries.ts'
import type { WebhookJson } from '../store/webhooks/webhookAdmin.ts'
import { moreNote, withPageOptions } from './pageOptions.ts'
import { parseDeliveryId, parseWebhookId } from './parse.ts'

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
      const listed = await webhooks.listWebhooks(await context.operator(), defined({ account }))
      const { data } = valueOf(listed)
      context.show({ json: data, text: webhookTable(data) })
    })
}

function deliveries(context: CliContext): Command {
  const command = createCommand(
    'deliveries',
    'list the deliveries of a webhook with their tries, newest first',
    'webhook deliveries wh_0123456789ABCDEFGHIJKLMN --status pending',
  )
    .argument('<webhook>', 'webhook id', parseWebhookId)
    .addOption(
      new Option('--status <status>', 'only deliveries with this status').choices([
        'pending',
        'delivered',
        'failed',
      ]),
    )
  return withPageOptions(command, 'deliveries', parseDeliveryId).action(
    async (webhookId: string, page: DeliveryPage) => {
      const wanted = { webhookId, ...page }
      const listed = await webhooks.listWebhookDeliveries(await context.operator(), wanted)
      const { data, has_more } = valueOf(listed)
      context.show({
        json: data,
        text: deliveryTable(data),
        ...moreNote(has_more, data.at(-1)?.delivery_id, 'deliveries'),
      })
    },
  )
}

function redeliver(context: CliContext): Command {
  const command = createCommand(
    'redeliver',
    'deliver an event again, with the same id, or all that failed; refused while the webhook is disabled',
    'webhook redeliver whd_0123456789abcdef0123456789abcdef',
    'webhook redeliver --webhook wh_0123456789ABCDEFGHIJKLMN --dry-run',
  )
    .argument('[delivery]', 'delivery id', parseDeliveryId)
    .option('--webhook <webhook>', 'all failed deliveries of this webhook', parseWebhookId)
  return withManyOptions(command, 'deliveries', 'made again').action(
    async (
      deliveryId: string | undefined,
      options: ManyOptions & { readonly webhook?: string },
    ) => {
      const { webhook, limit } = options
      const dryRun = options.dryRun === true
      const given = { one: deliveryId !== undefined, many: webhook !== undefined, dryRun }
      requireOneOrMany(command, given, { one: 'a delivery id', choices: '--webhook' })
      const operator = await context.operator()
      if (webhook !== undefined) {
        const many = { webhookId: webhook, limit, dryRun }
        const result = await webhooks.redeliverFailed(operator, many)
        context.show(redeliveredAnswer(valueOf(result), limit))
      } else if (deliveryId !== undefined) {
        const json = valueOf(await webhooks.redeliver(operator, deliveryId))
        context.show({ json, text: 'The delivery is due now.' })
      }
    },
  )
}

function redeliveredAnswer(result: RedeliveredMany, limit: number): Answer {
  if ('would_redeliver' in result) {
    return dryRunAnswer(result, result.would_redeliver, limit, 'No failed deliveries found.')
  }
  const done = result.redelivered.map((id) => `${id} is due now.`)
  const refused = result.refused.map(({ delivery_id, message }) => `${delivery_id}: ${message}`)
  return manyAnswer(result, { done, refused }, limit, 'due')
}

function disable(context: CliContext): Command {
  return createCommand(
    'disable',
    'disable a webhook: its pending deliveries fail; its account can enable it again',
    'webhook disable wh_0123456789ABCDEFGHIJKLMN',
  )
    .argument('<webhook>', 'webhook id', parseWebhookId)
    .action(async (webhookId: string) => {
      const json = valueOf(await webhooks.disableWebhook(await context.operator(), webhookId))
      context.show({ json, text: 'Disabled. Its pending deliveries fail.' })
    })
}

function remove(context: CliContext): Command {
  return createCommand(
    'delete',
    'delete a webhook: its pending deliveries fail; its account can register another',
    'webhook delete wh_0123456789ABCDEFGHIJKLMN',
  )
    .argument('<webhook>', 'webhook id', parseWebhookId)
    .action(async (webhookId: string) => {
      const json = valueOf(await webhooks.deleteWebhook(await context.operator(), webhookId))
      context.show({ json, text: 'Deleted. Its pending deliveries fail.' })
    })
}

function webhookTable(listed: readonly WebhookJson[]): string {
  return table(
    ['WEBHOOK', 'ACCOUNT', 'STATUS', 'KEY', 'PENDING', 'OLDEST PENDING', 'FAILING SINCE', 'URL'],
    listed.map((webhook) => [
      webhook.webhook_id,
      webhook.account,
      webhook.status,
      webhook.key_id,
      webhook.pending,
      shortTime(webhook.oldest_pending_at),
      shortTime(webhook.failing_since),
      webhook.url,
    ]),
    'No webhooks found.',
  )
}

function deliveryTable(listed: readonly DeliveryJson[]): string {
  return table(
    ['DELIVERY', 'EVENT', 'TASK', 'STATUS', 'TRIES', 'LAST', 'CREATED', 'NEXT TRY'],
    listed.map(({ attempts, ...delivery }) => {
      const last = attempts.at(-1)
      return [
        delivery.delivery_id,
        delivery.event,
        delivery.task_id,
        delivery.status,
        attempts.length,
        last?.http_status ?? last?.error,
        shortTime(delivery.created_at),
        shortTime(delivery.next_attempt_at),
      ]
    }),
    'No deliveries found.',
  )
}
