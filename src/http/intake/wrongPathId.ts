import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import type { IdName } from '../../domain/ids.ts'
import { wrongId } from '../../domain/ids.ts'
import type { RouteContext } from '../route.ts'

/** Every id that a path may have, by its name there, with its name in the context of a route. */
const idsOfPaths = [
  ['task_id', 'taskId'],
  ['webhook_id', 'webhookId'],
  ['delivery_id', 'deliveryId'],
  ['key_id', 'keyId'],
] as const satisfies readonly (readonly [IdName, string])[]

/**
 * Returns the failure of the first id in the path that has a wrong form, or `undefined`. It reveals nothing, because the
 * forms of ids are public.
 */
export function wrongPathId({ params }: RouteContext): RequestFailure | undefined {
  for (const [name, param] of idsOfPaths) {
    const given = params[param]
    const why = given === undefined ? undefined : wrongId(name, given)
    if (why !== undefined) return invalidRequest('invalid_request', name, why)
  }
  return undefined
}
