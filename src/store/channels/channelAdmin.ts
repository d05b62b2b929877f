import type { Pool } from 'pg'
import type { ChannelAdmin, ChannelStatus } from '../../domain/ports/channelAdmin.ts'
import { withTransaction } from '../connection/transaction.ts'
import { defined } from '../../domain/defined.ts'

type ChannelRow = {
  readonly name: string
  readonly pausedAtMs: number | null
  readonly pauseReason: string | null
  readonly inFlight: number
  readonly cooldowns: ChannelStatus['cooldowns']
}

/** The operator's hand on channels, over one pool. */
export function createChannelAdmin(pool: Pool): ChannelAdmin {
  const named = async (name: string) => (await listChannels(pool, name))[0]
  return {
    listChannels: () => listChannels(pool),
    pauseChannel: async (name, reason) => {
      await pool.query(pauseSql, [name, reason])
      return named(name)
    },
    resumeChannel: async (name) => {
      await withTransaction(pool, async (client) => {
        // In this order, as everybody: the channel's row guards its cooldowns.
        await client.query(resumeSql, [name])
        await client.query('delete from cooldown where channel = $1', [name])
      })
      return named(name)
    },
  }
}

async function listChannels(pool: Pool, name?: string): Promise<readonly ChannelStatus[]> {
  const { rows } = await pool.query<ChannelRow>(listSql, [name ?? null])
  return rows.map(({ pausedAtMs, pauseReason, ...row }) => ({
    ...row,
    ...defined({ pausedAtMs, pauseReason }),
  }))
}

const listSql = `
  select name, pause_reason as "pauseReason",
    (extract(epoch from paused_at) * 1000)::float8 as "pausedAtMs",
    (select count(*) from attempt
      where channel = name and closed_at is null and lease_until > now())::int as "inFlight",
    coalesce((
      select json_agg(json_build_object(
        'model', model, 'untilMs', (extract(epoch from until_at) * 1000)::float8) order by model)
      from cooldown where channel = name and until_at > now()), '[]') as cooldowns
  from channel where $1::text is null or name = $1
  order by name`

const pauseSql = `
  update channel set paused_at = now(), pause_reason = $2 where name = $1 and paused_at is null`

/** The count of faults begins anew: the operator has seen to it. */
const resumeSql = `
  update channel set paused_at = null, pause_reason = null, faults = 0, fault_task_id = null
  where name = $1`

/** Every configured channel has a row: the row is what its concurrency and its pause are locked by. */
export async function ensureChannels(pool: Pool, names: readonly string[]): Promise<void> {
  await pool.query(
    'insert into channel (name) select unnest($1::text[]) on conflict (name) do nothing',
    [names],
  )
}
