import type { RequestFailure } from '../domain/requestFailure.ts'
import type { TaskFailure } from '../domain/taskFailure.ts'

/** Every end of a request without its answer; `errors.ts` translates it. */
export type HttpFailure =
  | RequestFailure
  /** A synchronous call's task ended without an image. */
  | { readonly tag: 'task_ended'; readonly failure: TaskFailure }
  /** A synchronous call was held open as long as it may; its task goes on. */
  | { readonly tag: 'sync_deadline' }
  /** A synchronous call's key names a task whose image was kept as long as promised. */
  | { readonly tag: 'result_expired' }
  /** One body for foreign, random, tampered and expired asset URLs. */
  | { readonly tag: 'asset_not_found' }
  | { readonly tag: 'range_not_satisfiable'; readonly bytes: number }
  | { readonly tag: 'not_ready' }
  | { readonly tag: 'internal_error' }
