import { defined } from '../domain/defined.ts'
import type { Found } from '../store/operator/findById.ts'
import { findById } from '../store/operator/findById.ts'
import type { List, OperationDeps } from './operation.ts'
import { listOf } from './operation.ts'

export type FoundJson = Omit<Found, 'taskId'> & {
  /** The task itself, or that of a delivery. */
  readonly task_id?: string
}

/** Finds what a customer names by any id. `id` contains no NUL, which PostgreSQL has no text for. */
export async function find(
  { pool }: Pick<OperationDeps, 'pool'>,
  id: string,
): Promise<List<FoundJson>> {
  const found = await findById(pool, id)
  return listOf(found.map(({ taskId, ...row }) => ({ ...row, ...defined({ task_id: taskId }) })))
}
