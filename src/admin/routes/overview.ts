import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../context.ts'
import { succeed } from '../../domain/result.ts'
import { showOverview } from '../../operations/overview.ts'
import { showQueue } from '../../operations/queue.ts'
import { find } from '../../operations/find.ts'
import { noFields } from '../../schema/extensionRequest.ts'
import { anyText, listOf } from '../schemas/parameters.ts'

const at = z.iso.datetime()
const cooldown = z.object({ channel: z.string(), model: z.string(), until: at })

const overview = z
  .object({
    object: z.literal('overview'),
    at,
    tasks: z.object({ queued: z.int(), processing: z.int() }),
    oldest_waiting: z
      .object({ task_id: z.string(), account: z.string(), model: z.string(), created_at: at })
      .nullable(),
    calls: z
      .array(z.object({ channel: z.string(), outcome: z.string(), count: z.int() }))
      .meta({ description: 'The calls that ended in the last hour.' }),
    days: z
      .array(
        z.object({
          day: z.iso.date(),
          succeeded: z.int(),
          failed: z.int(),
          credits: z.int(),
        }),
      )
      .meta({ description: 'The last 14 days in UTC, oldest first.' }),
    paused: z.array(z.object({ channel: z.string(), paused_at: at, reason: z.string() })),
    cooldowns: z.array(cooldown),
    webhooks_in_trouble: z.array(
      z.object({
        webhook_id: z.string(),
        account: z.string(),
        url: z.string(),
        failing_since: at,
        pending: z.int(),
      }),
    ),
  })
  .meta({ id: 'Overview', description: 'How the installation is doing.' })

const queue = z
  .object({
    object: z.literal('queue'),
    at,
    accounts: z.array(
      z.object({
        account: z.string(),
        waiting: z.int(),
        calling: z.int(),
        oldest_created_at: at,
      }),
    ),
    channels: z.array(
      z.object({
        channel: z.string(),
        in_flight: z.int(),
        paused: z.boolean(),
        cooldown_until: at.nullable(),
      }),
    ),
    data: z
      .array(
        z.object({
          task_id: z.string(),
          account: z.string(),
          model: z.string(),
          status: z.enum(['queued', 'processing']),
          created_at: at,
          attempts: z.int(),
          waiting_for: z.string(),
        }),
      )
      .meta({ description: 'The oldest live tasks, at most 100.' }),
  })
  .meta({ id: 'Queue', description: 'Who waits, since when, and for what.' })

const found = z
  .object({
    kind: z.enum(['task', 'account', 'key', 'webhook', 'delivery', 'channel']),
    id: z.string(),
    account: z.string().nullable(),
    task_id: z.string().optional(),
    matched: z.string().meta({ description: 'What the id is, such as `request_id`.' }),
  })
  .meta({ id: 'Found', description: 'What an id belongs to.' })

const tag = 'Overview'

export const overviewRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/overview',
    id: 'getOverview',
    tag,
    summary: 'Read how the installation is doing',
    params: noFields,
    input: noFields,
    answer: [200, 'What runs now, and the last days.', overview],
    run: async ({ operator }) => succeed(await showOverview(operator)),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/queue',
    id: 'getQueue',
    tag,
    summary: 'Read who waits',
    params: noFields,
    input: noFields,
    answer: [200, 'Live tasks, by account and channel.', queue],
    run: async ({ operator }) => succeed(await showQueue(operator)),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/find',
    id: 'find',
    tag,
    summary: 'Find what an id belongs to',
    description:
      'Of a task, request, Idempotency-Key, vendor’s request, account, key, webhook, delivery or channel.',
    params: noFields,
    input: z.strictObject({ id: anyText }),
    answer: [200, 'Everything with this id.', listOf(found)],
    errors: ['missing_required_parameter'],
    run: async ({ operator, input }) => succeed(await find(operator, input.id)),
  }),
]
