import type { PoolClient } from 'pg'

/**
 * Arms the alert of the account with this name: webhooks are told once when fewer credits than `below` are available, at
 * once if they are (`tell_balance_low` in the schema). Null removes the alert.
 */
export async function setAlert(
  client: PoolClient,
  name: string,
  below: number | null,
): Promise<void> {
  await client.query(
    `update balance set alert_below = $2::bigint, alert_armed = $2::bigint is not null
     from account where account.account_id = balance.account_id and account.name = $1`,
    [name, below],
  )
}
