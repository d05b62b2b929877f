import { z } from 'zod'

/** One page of a list. */
export function listOf<Row extends z.ZodType>(row: Row) {
  return z.object({
    object: z.literal('list'),
    data: z.array(row),
    has_more: z.boolean().meta({ description: 'Whether more rows follow.' }),
  })
}
