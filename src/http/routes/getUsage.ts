import { z } from 'zod'
import type { Usage, UsageGroup, UsageRow } from '../../domain/accounts/usageQuery.ts'
import { usageCells, usageField, usageGroups } from '../../domain/accounts/usageQuery.ts'
import { csvOf } from '../../domain/lists/csv.ts'
import { defined } from '../../domain/defined.ts'
import { usage } from '../../schema/answers/usageAnswer.ts'
import { invalidValue } from '../../domain/requestFailures.ts'
import { usageQuery } from '../../schema/queries.ts'
import { sendJson } from '../answers/sendBody.ts'
import { extensionRoute } from '../extensionRoute.ts'
import { json } from '../route.ts'

export const getUsageRoute = extensionRoute({
  method: 'GET',
  path: '/v1/usage',
  id: 'getUsage',
  summary: 'Count tasks and credits of a period',
  description:
    'Tasks count at the moment of their end, in `[start_time, end_time)`; days are in UTC. `credits` is the sum of what was charged, to the credit, and does not change when tasks are deleted. A period is final 60 seconds after its end. `Accept: text/csv` returns the rows as CSV.',
  input: usageQuery,
  answers: {
    200: {
      description: 'One row for each group, by day, model and key.',
      content: {
        ...json(usage),
        'text/csv': z.string().meta({
          example: 'model,succeeded,failed,credits\r\nfamilyb-image-2-vip,2,1,422\r\n',
        }),
      },
    },
  },
  handler:
    (parts) =>
    async (context, { accountId }, query) => {
      const { start_time: startTime, end_time: endTime, group_by: asked } = query
      const groupBy = usageGroups.filter((group) => asked.includes(group))
      const period = defined({ startTime, endTime })
      const counted = await parts.reads.readUsage(accountId, { groupBy, ...period })
      if (counted === 'too_many_rows') {
        return invalidValue('group_by', 'the answer has too many rows; ask for a shorter period')
      }
      context.vary('Accept')
      if (context.accepts('application/json', 'text/csv') === 'text/csv') {
        context.set('Content-Type', 'text/csv; charset=utf-8')
        context.body = usageCsv(counted.data, groupBy)
        return undefined
      }
      sendJson(context, 200, usageJson(counted))
      return undefined
    },
})

/** Clients read days as instants. */
const startOf = ({ day }: UsageRow) => (day === undefined ? undefined : `${day}T00:00:00Z`)

function usageJson({ start_time, end_time, data, total }: Usage): object {
  return {
    object: 'usage',
    start_time: shortest(start_time),
    end_time: shortest(end_time),
    data: data.map((row) => {
      const { day: _day, ...rest } = row
      return { ...defined({ start_time: startOf(row) }), ...rest }
    }),
    total,
  }
}

/** Removes the fraction of a second if it is zero. The times in the rows of this answer have no fraction either. */
function shortest(instant: string): string {
  return instant.replace('.000000Z', 'Z')
}

/** Returns the rows as CSV with a heading. */
function usageCsv(rows: readonly UsageRow[], groups: readonly UsageGroup[]): string {
  const heading = groups.map((group) => (group === 'day' ? 'start_time' : usageField(group)))
  const lines = rows.map((row) => [
    ...groups.map((group) => (group === 'day' ? startOf(row) : row[usageField(group)])),
    ...usageCells(row),
  ])
  return csvOf([[...heading, 'succeeded', 'failed', 'credits'], ...lines])
}
