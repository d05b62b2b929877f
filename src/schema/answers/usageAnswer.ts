import { z } from 'zod'

const count = z.int().min(0)

/** What every row of usage has, and their total. */
export const counts = {
  tasks: z.object({ succeeded: count, failed: count }).meta({
    description: 'The tasks that ended in the period.',
  }),
  credits: count.meta({ description: 'What the succeeded tasks were charged.' }),
}

/** The answer of `GET /v1/usage`. */
export const usage = z
  .object({
    object: z.literal('usage'),
    start_time: z.iso.datetime(),
    end_time: z.iso.datetime(),
    data: z.array(
      z.object({
        start_time: z.iso.datetime().optional().meta({
          description: 'The start of the day in UTC. Present when grouped by day.',
        }),
        model: z.string().optional().meta({ description: 'Present when grouped by model.' }),
        key_id: z.string().optional().meta({ description: 'Present when grouped by key.' }),
        ...counts,
      }),
    ),
    total: z.object(counts),
  })
  .meta({ id: 'Usage', description: 'What the tasks of an account cost in a period.' })
