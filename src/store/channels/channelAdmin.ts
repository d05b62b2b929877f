import type { Pool, PoolClient } from 'pg'
import type { ListPage } from '../../domain/lists/list.ts'
import type { AnswerOf } from '../../schema/answerOf.ts'
import type { channel } from '../../schema/operators/operatorChannels.ts'
import { isoSql } from '../isoSql.ts'
import type { Page } from '../readPage.ts'
import { readPage } from '../readPage.ts'

/** The state of a channel, which all workers share. */
export type ChannelJson = AnswerOf<typeof channel>

/**
 * Makes sure that each of these channels has a row. The gate locks this row when it counts the channel's calls. A
 * channel that already has a row keeps its pause.
 */
export async function ensureChannels(pool: Pool, names: readonly string[]): Promise<void> {
  await pool.query(
    'insert into channel (name) select unnest($1::text[]) on conflict (name) do nothing',
    [names],
  )
}

/**
 * Pauses a channel. A channel that is already paused keeps the time and reason of its pause. Returns `undefined` when
 * there is no such channel.
 */
export async function pauseChannel(
  client: Pool | PoolClient,
  name: string,
  reason: string,
): Promise<ChannelJson | undefined> {
  await client.query(pauseSql, [name, reason])
  return readChannel(client, name)
}

const pauseSql = `
  update channel set paused_at = now(), pause_reason = $2 where name = $1 and paused_at is null`

/**
 * Ends a channel's pause and its cooldowns. Must run in a transaction. Returns `undefined` when there is no such channel.
 */
export async function resumeChannel(
  client: PoolClient,
  name: string,
): Promise<ChannelJson | undefined> {
  // This update comes first because it locks the channel's row, which also protects the channel's cooldowns.
  // Transactions lock a channel before its cooldowns, so that they cannot deadlock.
  await client.query(resumeSql, [name])
  await client.query('delete from cooldown where channel = $1', [name])
  return readChannel(client, name)
}

const resumeSql = `
  update channel set paused_at = null, pause_reason = null where name = $1`

async function readChannel(
  client: Pool | PoolClient,
  name: string,
): Promise<ChannelJson | undefined> {
  const { rows } = await client.query<ChannelJson>(`${channelSql} where name = $1`, [name])
  return rows[0]
}

/** Returns the channels that any worker has had in its configuration since the installation, sorted by name. */
export async function listChannels(pool: Pool, page: Page): Promise<ListPage<ChannelJson>> {
  return readPage<ChannelJson>(pool, page, {
    table: 'channel',
    order: ['name'],
    direction: 'asc',
    filter: [],
    select: (where, newest) => `${channelSql} ${where} ${newest}`,
  })
}

/** Limit for the pairs of status and code of a channel. Workers keep as many codes, and call further ones `other`. */
const declinedMax = 50

const channelSql = `
  select name, ${isoSql('paused_at', 'MS')} as paused_at, pause_reason,
    (select count(*) from attempt
      where channel = name and closed_at is null and lease_until > now())::int as in_flight,
    coalesce((
      select json_agg(json_build_object('model', model, 'until', ${isoSql('until_at', 'MS')}) order by model)
      from cooldown where channel = name and until_at > now()), '[]') as cooldowns,
    (select coalesce(json_agg(d), '[]') from (
      select http_status, vendor_code as code, count(*) as calls from attempt
      where attempt.channel = name and class = 'declined' and closed_at > now() - interval '1 hour'
      group by http_status, vendor_code order by calls desc, http_status, code limit ${declinedMax}
    ) d) as declined
  from channel`
