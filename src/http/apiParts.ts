import type { ApiDeps } from './apiDeps.ts'
import type { ByteBudget } from './byteBudget.ts'
import type { SyncWaits } from './syncWaits.ts'

/** What the routes share: the dependencies, and what one process keeps between its requests. */
export type ApiParts = ApiDeps & {
  readonly largeBodies: ByteBudget
  readonly syncWaits: SyncWaits
}
