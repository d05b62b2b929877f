import type { Pool } from 'pg'
import type { Caller } from '../domain/accounts/account.ts'
import type { Means } from '../domain/accounts/means.ts'
import { refusalByMeans } from '../domain/accounts/means.ts'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { checkSupported } from '../domain/tasks/checkSupported.ts'
import { expectedSeconds } from '../domain/tasks/expectedDuration.ts'
import type { AskedRequest } from '../domain/tasks/imageRequest.ts'
import type { TaskTermsDeps } from '../domain/tasks/taskTerms.ts'
import { taskTerms } from '../domain/tasks/taskTerms.ts'
import { countWaiting, readMeans } from '../store/accounts/readMeans.ts'

/** What a submit would hold now. `refusal` is why it would not be accepted. */
export type Estimate = {
  readonly credits: number
  readonly means: Means
  readonly expectedSeconds: number
  readonly refusal?: RequestFailure
}

/**
 * Returns what a submit of this request would hold and whether it would be accepted, by the rules of `acceptTask`. Only
 * reads, so it counts against no limit. Fails when the account may not use the model, when the model does not support the
 * request, and while the account is beyond its limit of requests.
 */
export async function estimateTask(
  deps: TaskTermsDeps & { readonly pool: Pool },
  { caller, request }: { readonly caller: Caller; readonly request: AskedRequest },
): Promise<Result<Estimate, RequestFailure>> {
  const supported = checkSupported(deps.models, { caller, request })
  if (!supported.ok) return supported
  const { credits } = taskTerms(deps, supported.value)
  const [means, waiting] = await Promise.all([
    readMeans(deps.pool, caller),
    countWaiting(deps.pool, caller.accountId, supported.value.family),
  ])
  const refusal = refusalByMeans(means, credits)
  if (refusal?.tag === 'too_many_requests') return fail(refusal)
  const seconds = expectedSeconds(deps, supported.value, waiting)
  return succeed({ credits, means, expectedSeconds: seconds, ...defined({ refusal }) })
}
