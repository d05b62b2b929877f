import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { withTransaction } from './transaction.ts'

/**
 * Runs one statement with a plan for its values, also on a pool with `plansOnce`. For statements whose best plan
 * depends on a limit, or on how many rows an account or a filter has. Such a statement may be planned for a tenth of a
 * table although it returns a page.
 */
export async function queryWithOwnPlan<Row extends QueryResultRow>(
  pool: Pool,
  statement: QueryConfig,
): Promise<QueryResult<Row>> {
  return withTransaction(pool, async (client) => {
    await client.query(
      'set local plan_cache_mode = force_custom_plan; set local enable_seqscan = on',
    )
    return client.query<Row>(statement)
  })
}
