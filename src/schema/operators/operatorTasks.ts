import { z } from 'zod'
import { inputMimeTypes } from '../../domain/models/models.ts'
import { listedTask } from '../answers/recordAnswer.ts'

/** Why one of many was refused. */
export const refusal = { reason: z.string(), message: z.string() }

export const taskRow = listedTask
  .extend({
    account: z.string().meta({ description: 'The name of the account.' }),
    key_id: z.string(),
  })
  .meta({ id: 'TaskRow', description: 'The record that the client sees, with account and key.' })

const event = z.looseObject({
  at: z.iso.datetime(),
  event: z.string().meta({ description: 'What happened, such as `attempt_closed`.' }),
})

export const taskStory = z
  .object({
    task_id: z.string(),
    account: z.string(),
    key_id: z.string(),
    model: z.string(),
    action: z.string(),
    size: z.string().optional(),
    quality: z.string().optional(),
    route: z.string().meta({ description: 'The route by which it came.' }),
    status: z.string(),
    credits: z.int().meta({ description: 'The price, which is held until the end.' }),
    charged: z.int().optional().meta({
      description:
        'What the ended task cost: less than the price when its image is smaller than asked.',
    }),
    delivered: z.string().optional().meta({
      description: 'The pixels of the image.',
      example: '1254x1254',
    }),
    created_at: z.iso.datetime(),
    deadline_at: z.iso.datetime(),
    expires_at: z.iso.datetime().optional(),
    purge_at: z.iso.datetime().optional(),
    retry_of: z.string().optional(),
    retried_as: z.string().optional(),
    request_id: z.string().optional(),
    traceparent: z.string().optional(),
    workflow_url: z.string().optional().meta({ description: 'Its run in Temporal’s UI.' }),
    timeline: z.array(event).meta({ description: 'What happened, in the order of time.' }),
  })
  .meta({ id: 'TaskStory', description: 'All that is known of a task, except its prompt.' })

export const retried = z.object({ task_id: z.string(), retry_of: z.string() })

const refused = z.array(z.object({ task_id: z.string(), ...refusal }))

export const retriedMany = z.union([
  z.object({ would_retry: z.array(z.string()) }),
  z.object({ retried: z.array(retried), refused }),
])

export const cancelledMany = z.union([
  z.object({ would_cancel: z.array(z.string()) }),
  z.object({ cancelled: z.array(z.string()), refused }),
])

export const taskRequest = z
  .object({
    task_id: z.string(),
    prompt: z.string(),
    model: z.string(),
    action: z.string(),
    size: z.string().nullable(),
    quality: z.string().nullable(),
    images: z.array(
      z.object({
        n: z.int().meta({ description: 'Its number, from 1.' }),
        mime_type: z.enum(inputMimeTypes),
        bytes: z.int(),
      }),
    ),
  })
  .meta({ id: 'RequestOfTask', description: 'What the client asked for.' })
