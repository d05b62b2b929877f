import type { Pool } from 'pg'
import type { ModelId } from '../../domain/models/models.ts'

/** Returns the models of live tasks that are none of these, each with how many live tasks it has. */
export async function readOtherModels(
  pool: Pool,
  models: readonly ModelId[],
): Promise<readonly { readonly model: ModelId; readonly count: number }[]> {
  const { rows } = await pool.query<{ model: ModelId; count: number }>(
    `select model, count(*)::int as count from task
     where status in ('queued', 'processing') and model <> all ($1) group by model order by model`,
    [models],
  )
  return rows
}
