import type { Pool, PoolClient } from 'pg'
import type { RequestsLimit, RequestsState } from '../../domain/accounts/accountLimits.ts'

/** What the SQL function `account_limits` returns. */
export type LimitsRow = {
  readonly requests: RequestsState | null
  readonly liveTasks: number | null
}

/** Null removes a limit. An absent limit stays as it is. */
export type NewLimits = {
  readonly requests?: RequestsLimit | null | undefined
  readonly liveTasks?: number | null | undefined
}

/**
 * Sets or removes limits of the account with this name. They are exact from the commit on. A new limit of requests begins
 * unused; one that is the same as before stays as used as it is. Returns false when there is no such account.
 */
export async function setLimits(
  client: Pool | PoolClient,
  name: string,
  { requests, liveTasks }: NewLimits,
): Promise<boolean> {
  const { rowCount } = await client.query(setLimitsSql, [
    name,
    requests !== undefined,
    requests?.limit ?? null,
    requests?.period ?? null,
    liveTasks !== undefined,
    liveTasks ?? null,
  ])
  return rowCount === 1
}

const setLimitsSql = `
  update balance set
    requests_limit = case when $2 then $3 else requests_limit end,
    requests_period = case when $2 then $4 else requests_period end,
    requests_tat = case
      when $2 and (requests_limit, requests_period) is distinct from ($3, $4) then null
      else requests_tat end,
    live_tasks_limit = case when $5 then $6 else live_tasks_limit end
  from account where account.account_id = balance.account_id and account.name = $1`
