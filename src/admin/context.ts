import type { AdminKey, Authorize } from './authorize.ts'
import type { ApiDeps, Handler } from '../http/context.ts'
import type { DescribedRoute } from '../http/route.ts'
import type { ContentOperations, Operations } from '../wiring/operations.ts'
import type { ByteBudget } from '../streams/byteBudget.ts'

/** Everything that the admin API needs. `src/wiring/admin.ts` provides it. */
export type AdminDeps = Pick<ApiDeps, 'randomBytes' | 'ready' | 'observe' | 'reportError'> & {
  readonly keys: readonly AdminKey[]
  /** Returns what the owner of a key can do. Each change is recorded with the id of the key. */
  readonly operationsOf: (keyId: string) => AdminOperations
  /** The address on which the process listens. */
  readonly host: string
  /** Names by which browsers may reach the process besides `host`. */
  readonly allowedHosts: readonly string[]
}

export type AdminOperations = Operations & { readonly contents: ContentOperations }

/** The dependencies, and the state that the process keeps across requests. */
export type AdminParts = AdminDeps & {
  readonly authorize: Authorize
  readonly largeBodies: ByteBudget
}

/** One route of the admin API, and all that is said about it. */
export type AdminRoute = DescribedRoute & { readonly handler: (parts: AdminParts) => Handler }
