import { z } from 'zod'

// How operators see the installation as a whole.

const at = z.iso.datetime()
const cooldown = z.object({ channel: z.string(), model: z.string(), until: at })

export const overview = z
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

/**
 * What a task waits for.
 * - `answer`: a call is under way.
 * - `backoff`: the pause after a call with an unknown outcome, or after an error that is free.
 * - `declined`: the time after which a channel that has declined it is tried again.
 * - `worker`: a channel of the family may be called now.
 * - `place`, `cooldown`, `resume`: what keeps calls of the model from every channel of the family: its places are taken,
 *   or the few that it has after a cooldown; a cooldown; a pause. Where channels differ, the first of these.
 * - `channel`: the family has no channel.
 */
const waitingFor = z.string()

export const queue = z
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
          waiting_for: waitingFor,
        }),
      )
      .meta({ description: 'The oldest live tasks, at most 100.' }),
  })
  .meta({ id: 'Queue', description: 'Who waits, since when, and for what.' })

export const found = z
  .object({
    kind: z.enum(['task', 'account', 'key', 'webhook', 'delivery', 'channel']),
    id: z.string(),
    account: z.string().nullable(),
    task_id: z.string().optional(),
    matched: z.string().meta({ description: 'What the id is, such as `request_id`.' }),
  })
  .meta({ id: 'Found', description: 'What an id belongs to.' })
