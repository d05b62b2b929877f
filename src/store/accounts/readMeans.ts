import type { Pool } from 'pg'
import type { Caller } from '../../domain/accounts/account.ts'
import type { Family } from '../../domain/models/models.ts'
import type { Means } from '../../domain/accounts/means.ts'
import { defined } from '../../domain/defined.ts'
import type { Row } from '../row.ts'
import { budgetSql } from './budgets.ts'

/**
 * Reads what the account of a caller has for one more task, without locks. Takes nothing of its limits. Throws when there
 * is no such account.
 */
export async function readMeans(pool: Pool, { accountId, keyId }: Caller): Promise<Means> {
  const { rows } = await pool.query<Row<Means>>({
    name: 'read-means',
    text: meansSql,
    values: [accountId, keyId],
  })
  if (rows[0] === undefined) throw new Error(`Bug: there is no account ${accountId}`)
  return defined(rows[0])
}

/** Counts live tasks only where they have a limit, and no further than to it: an account may have thousands. */
const meansSql = `
  select available, account_limits(balance) -> 'requests' as requests,
    case when live_tasks_limit is not null then json_build_object('limit', live_tasks_limit, 'used', (
      select count(*) from (
        select from task where task.account_id = $1 and completed_at is null limit live_tasks_limit
      ) live)) end as "liveTasks",
    (select ${budgetSql} from api_key where key_id = $2) as budget
  from balance where account_id = $1`

/** Returns how many live tasks of the account and the family have no call under way. Counts no further than to 10,000. */
export async function countWaiting(pool: Pool, accountId: string, family: Family): Promise<number> {
  const { rows } = await pool.query<{ waiting: number }>({
    name: 'count-waiting',
    text: `select count(*)::int as waiting from (
        select from task where account_id = $1 and completed_at is null and open_attempt is null and family = $2
        limit 10000
      ) live`,
    values: [accountId, family],
  })
  return rows[0]?.waiting ?? 0
}
