import type { Usage, UsageGroup, UsageRow } from '../../domain/accounts/usage.ts'
import { usageGroups } from '../../domain/accounts/usage.ts'
import { defined } from '../../domain/defined.ts'
import { invalidValue } from '../../schema/requestFailures.ts'
import { usageQuery } from '../../schema/usageQuery.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import { withQuery } from '../extensionRoute.ts'

/** `GET /v1/usage`: answers with what the account's tasks cost in a period, as JSON or as CSV. */
export function getUsage(parts: ApiParts): AccountHandler {
  return withQuery(usageQuery, async (context, { accountId }, query) => {
    const { start_time: startTime, end_time: endTime, group_by: groupBy } = query
    const asked = { groupBy, ...defined({ startTime, endTime }) }
    const usage = await parts.reads.readUsage(accountId, asked)
    if (usage === 'too_many_rows') {
      return invalidValue('group_by', 'the answer has too many rows; ask for a shorter period')
    }
    context.vary('Accept')
    if (context.accepts('application/json', 'text/csv') === 'text/csv') {
      context.set('Content-Type', 'text/csv; charset=utf-8')
      context.body = csvOf(usage.rows, groupBy)
      return undefined
    }
    sendJson(context, 200, usageJson(usage))
    return undefined
  })
}

function usageJson({ startTime, endTime, rows }: Usage): object {
  const total = { succeeded: 0, failed: 0, credits: 0 }
  for (const row of rows) {
    total.succeeded += row.succeeded
    total.failed += row.failed
    total.credits += row.credits
  }
  return {
    object: 'usage',
    start_time: shortest(startTime),
    end_time: shortest(endTime),
    data: rows.map((row) => ({
      ...defined({ start_time: row.startTime, model: row.model, key_id: row.keyId }),
      ...countsJson(row),
    })),
    total: countsJson(total),
  }
}

function countsJson({ succeeded, failed, credits }: UsageRow): object {
  return { tasks: { succeeded, failed }, credits }
}

/** Removes the fraction of a second if it is zero. The times in the rows of this answer have no fraction either. */
function shortest(instant: string): string {
  return instant.replace('.000000Z', 'Z')
}

const columns = { day: 'start_time', model: 'model', key: 'key_id' } as const

/**
 * Returns the rows as lines of CSV (RFC 4180), with a heading. The values are times, numbers, model names and key
 * ids. No client chooses such a value, so no value needs quotes, and no spreadsheet reads a value as a formula.
 */
function csvOf(rows: readonly UsageRow[], groupBy: readonly UsageGroup[]): string {
  const groups = usageGroups.filter((group) => groupBy.includes(group))
  const heading = [...groups.map((group) => columns[group]), 'succeeded', 'failed', 'credits']
  const lines = rows.map((row) => {
    const names = { day: row.startTime, model: row.model, key: row.keyId }
    return [...groups.map((group) => names[group]), row.succeeded, row.failed, row.credits]
  })
  return [heading, ...lines].map((cells) => `${cells.join(',')}\r\n`).join('')
}
