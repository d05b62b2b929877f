import type { Found } from '../store/operator/findById.ts'
import { findById } from '../store/operator/findById.ts'
import type { List, OperationDeps } from './operation.ts'
import { listOf } from './operation.ts'

/** Finds what a customer names by any id. `id` contains no NUL, which PostgreSQL has no text for. */
export async function find(
  { pool }: Pick<OperationDeps, 'pool'>,
  id: string,
): Promise<List<Found>> {
  return listOf(await findById(pool, id))
}
