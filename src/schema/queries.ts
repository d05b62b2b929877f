import { z } from 'zod'
import { usageGroups } from '../domain/accounts/usageQuery.ts'
import type { IdName } from '../domain/ids.ts'
import { idForms } from '../domain/ids.ts'
import { actions } from '../domain/models/models.ts'
import { publicStatuses } from '../domain/tasks/task.ts'
import { instantParameter } from './instant.ts'
import { modelField } from './modelFields.ts'

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

/** The query of a list whose rows have such ids. */
export function pageQuery(name: IdName) {
  const row = name.replace('_id', '')
  return z.strictObject({
    limit: limitParameter,
    after: z
      .string()
      .regex(idForms[name].pattern, { error: `the id of a ${row} from the previous page` })
      .optional()
      .meta({ description: 'The last id of the previous page. The list continues after it.' }),
  })
}

/** The instants between which something was created. */
export const createdBetween = {
  created_after: instantParameter.optional().meta({
    description: 'Only what was created at this time or later. ISO 8601 or Unix seconds.',
    example: '2026-01-01T00:00:00Z',
  }),
  created_before: instantParameter.optional().meta({
    description: 'Only what was created before this time. ISO 8601 or Unix seconds.',
    example: '1767312000',
  }),
}

/** The query of `:streamGenerateContent`. */
export const contentStreamQuery = z.strictObject({
  alt: z.enum(['sse', 'json']).default('json').meta({
    description: '`sse`: server-sent events. `json`: an array.',
  }),
})

/** The query of `GET /v1/tasks`. */
export const taskListQuery = pageQuery('task_id').extend({
  status: z.enum(publicStatuses).optional().meta({ description: 'Only tasks with this status.' }),
  model: modelField().optional().meta({ description: 'Only tasks of this model.' }),
  action: z.enum(actions).optional().meta({ description: 'Only tasks with this action.' }),
  ...createdBetween,
})

/** The two ends of a period. */
export const period = {
  start_time: instantParameter.optional().meta({
    description: 'The first instant. ISO 8601 or Unix seconds. Default: 30 days before `end_time`.',
    example: '2026-01-01T00:00:00Z',
  }),
  end_time: instantParameter.optional().meta({
    description: 'The end, which is excluded. ISO 8601 or Unix seconds. Default: now.',
    example: '1769904000',
  }),
}

/** Refuses a period that ends before it begins. */
export function checkPeriod(
  { start_time: start, end_time: end }: z.output<z.ZodObject<typeof period>>,
  context: z.RefinementCtx,
): void {
  if (start === undefined || end === undefined || start < end) return
  context.addIssue({ code: 'custom', path: ['end_time'], message: 'it must be after start_time' })
}

/** What to group rows by: some of `known`, separated by commas, each once. */
export function groupsParameter<Group extends string>(known: readonly Group[]) {
  const names = known.join(', ')
  return z
    .string()
    .optional()
    .transform((text, context) => {
      const asked = text === undefined ? [] : text.split(',')
      const groups = asked.flatMap((name) => known.find((group) => group === name) ?? [])
      if (groups.length === asked.length && new Set(groups).size === groups.length) return groups
      const message = `one or more of ${names}, separated by commas, each once`
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    })
    .meta({
      description: `What to group the rows by: one or more of ${names}, separated by commas.`,
      example: known.slice(0, 2).join(','),
    })
}

/** The query of `GET /v1/usage`. */
export const usageQuery = z
  .strictObject({ ...period, group_by: groupsParameter(usageGroups) })
  .superRefine(checkPeriod)
