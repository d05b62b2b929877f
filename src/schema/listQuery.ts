import { z } from 'zod'
import { taskIdPattern } from '../domain/ids.ts'
import { actions, modelIds } from '../domain/models/models.ts'
import { publicStatuses } from '../domain/tasks/task.ts'
import { instantParameter } from './instant.ts'

const limitMax = 100
const limitDefault = 20

/** The parameter `limit` of every list. */
export const limitParameter = z
  .preprocess(
    (text) => (typeof text === 'string' && /^\d{1,3}$/.test(text) ? Number(text) : text),
    z
      .int({ error: `a whole number from 1 to ${limitMax}` })
      .min(1)
      .max(limitMax)
      .default(limitDefault),
  )
  .meta({ description: 'How many rows to return at most.' })

/** The query of `GET /v1/tasks`. */
export const taskListQuery = z.strictObject({
  status: z.enum(publicStatuses).optional().meta({ description: 'Only tasks with this status.' }),
  model: z.enum(modelIds).optional().meta({ description: 'Only tasks of this model.' }),
  action: z.enum(actions).optional().meta({ description: 'Only tasks with this action.' }),
  created_after: instantParameter.optional().meta({
    description: 'Only tasks that were created at this time or later. ISO 8601 or Unix seconds.',
    example: '2026-01-01T00:00:00Z',
  }),
  created_before: instantParameter.optional().meta({
    description: 'Only tasks that were created before this time. ISO 8601 or Unix seconds.',
    example: '1767312000',
  }),
  limit: limitParameter,
  after: z
    .string()
    .regex(taskIdPattern, { error: 'the id of a task from the previous page' })
    .optional()
    .meta({ description: 'The last id of the previous page. The list continues after it.' }),
})
