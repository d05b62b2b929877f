import type { AdminKey, Authorize } from './authorize.ts'
import type { ApiDeps } from '../http/apiParts.ts'
import type { RequestObservers } from '../http/middleware.ts'
import type { Route } from '../http/route.ts'
import type { Operator } from '../operations/operator.ts'
import type { ByteBudget } from '../bytes/byteBudget.ts'

/** Everything that the admin API needs. `src/wiring/adminProcess.ts` provides it. */
export type AdminDeps = RequestObservers &
  Pick<ApiDeps, 'ready'> & {
    readonly keys: readonly AdminKey[]
    /** Returns what operations work with for the owner of a key. Each change is recorded with the id of the key. */
    readonly operatorOf: (keyId: string) => Operator
    /** The address on which the process listens. */
    readonly host: string
    /** Names by which browsers may reach the process besides `host`. */
    readonly allowedHosts: readonly string[]
  }

/** The dependencies, and the state that the process keeps across requests. */
export type AdminParts = AdminDeps & {
  readonly authorize: Authorize
  readonly largeBodies: ByteBudget
}

export type AdminRoute = Route<AdminParts>
