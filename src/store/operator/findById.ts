import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import type { List } from '../../domain/lists/list.ts'
import { listOf } from '../../domain/lists/list.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { found } from '../../schema/operators/operatorOverview.ts'
import type { Row } from '../row.ts'
import { keyDigestsOf } from '../tasks/keyDigests.ts'
import { isKept } from '../taskRow.ts'

/** What an id belongs to. */
export type Found = AnswerOf<typeof found>

/** Enough: the idempotency key `1` may name a task of each account. */
const foundMax = 100

/** Returns everything that has this id, at most 100. Each part reads few rows of an index, or a small table. */
export async function findById(pool: Pool, id: string): Promise<List<Found>> {
  const { rows } = await pool.query<Row<Found>>({
    name: 'find-by-id',
    text: findSql,
    values: [id, keyDigestsOf(id)],
  })
  const found = rows.map(({ task_id, ...row }) => ({ ...row, ...defined({ task_id }) }))
  return listOf(found, foundMax)
}

const findSql = `
  with named (kind, matched, id, account_id, task_id) as (
    select 'task', 'task_id', task_id, account_id, task_id from task where task_id = $1 and ${isKept}
    union all
    select 'task', 'request_id', task_id, account_id, task_id from task
    where request_id = $1 and ${isKept}
    union all
    select 'task', 'idempotency_key', task_id, account_id, task_id from task
    where key_digest = any ($2::bytea[]) and ${isKept}
    union all
    select distinct 'task', 'upstream_request_id', task_id, account_id, task_id
    from attempt join task using (task_id) where upstream_request_id = $1 and ${isKept}
    union all
    select 'account', case name when $1 then 'name' else 'account_id' end, account_id, account_id, null
    from account where account_id = $1 or name = $1
    union all
    select 'key', case key_id when $1 then 'key_id' else 'prefix' end, key_id, account_id, null
    from api_key where key_id = $1 or prefix = $1
    union all
    select 'webhook', 'webhook_id', webhook_id, account_id, null from webhook
    where webhook_id = $1 and status <> 'deleted'
    union all
    select 'delivery', 'delivery_id', delivery_id, account_id, task_id
    from webhook_delivery join webhook using (webhook_id) where delivery_id = $1
    union all
    select 'channel', 'name', name, null, null from channel where name = $1
  )
  select kind, matched, id, account.name as account, task_id
  from named left join account using (account_id)
  order by kind, matched, id limit ${foundMax + 1}`
