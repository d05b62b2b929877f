import { z } from 'zod'
import { usageGroups } from '../domain/accounts/usage.ts'
import { instantParameter } from './instant.ts'

const groupNames = usageGroups.join(', ')

/** The query of `GET /v1/usage`. */
export const usageQuery = z
  .strictObject({
    start_time: instantParameter.optional().meta({
      description:
        'The first instant. ISO 8601 or Unix seconds. Default: 30 days before `end_time`.',
      example: '2026-01-01T00:00:00Z',
    }),
    end_time: instantParameter.optional().meta({
      description: 'The end, which is excluded. ISO 8601 or Unix seconds. Default: now.',
      example: '1769904000',
    }),
    group_by: z
      .string()
      .optional()
      .transform((text, context) => {
        const names = text === undefined ? [] : text.split(',')
        const groups = usageGroups.filter((group) => names.includes(group))
        if (groups.length === names.length) return groups
        const message = `one or more of ${groupNames}, separated by commas, each once`
        context.addIssue({ code: 'custom', message })
        return z.NEVER
      })
      .meta({
        description: `What to group the rows by: one or more of ${groupNames}, separated by commas.`,
        example: 'day,model',
      }),
  })
  .superRefine(({ start_time: start, end_time: end }, context) => {
    if (start === undefined || end === undefined || start < end) return
    context.addIssue({ code: 'custom', path: ['end_time'], message: 'it must be after start_time' })
  })
