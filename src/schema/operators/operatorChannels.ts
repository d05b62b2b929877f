import { z } from 'zod'
import { channelCheckResults } from '../../domain/upstream/channel.ts'

export const channel = z
  .object({
    name: z.string(),
    paused_at: z.iso.datetime().nullable(),
    pause_reason: z.string().nullable(),
    in_flight: z.int().meta({ description: 'The calls under way.' }),
    cooldowns: z.array(z.object({ model: z.string(), until: z.iso.datetime() })),
    declined: z
      .array(z.object({ http_status: z.int(), code: z.string().nullable(), calls: z.int() }))
      .meta({
        description:
          "What the upstream declined in the last hour, by status and the vendor's own code, most calls first.",
      }),
  })
  .meta({ id: 'Channel', description: 'An account at a vendor, and its state.' })

export const check = z
  .object({
    name: z.string(),
    result: z.enum(channelCheckResults),
    url: z.string(),
    header: z.string().meta({ description: 'The name of the header with the credential.' }),
    http_status: z.int().nullable(),
    latency_ms: z.int().nullable(),
    reason: z.string().nullable(),
  })
  .meta({
    id: 'ChannelCheck',
    description:
      'The answer to a call that costs nothing. It says nothing about models, verification and credit at the vendor.',
  })
