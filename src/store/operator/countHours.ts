import type { Pool } from 'pg'

/** The ends of one hour, which begins at `startMs`. */
export type HourCount = {
  readonly startMs: number
  readonly succeeded: number
  readonly failed: number
  readonly credits: number
}

/** What was counted of the hours from `sinceMs` until `untilMs`. */
type Counted = {
  readonly sinceMs: number
  readonly untilMs: number
  readonly hours: readonly HourCount[]
}

const countedBefore = new WeakMap<Pool, Counted>()

const hourMs = 3_600_000
/** After this time no end of an hour is still being written. */
const finalMs = 60_000

/**
 * Counts the ends of all tasks by hours, since the beginning of an hour. Hours without ends are absent. Hours that are
 * over do not change any more, and are counted once in a process: a busy installation has a million ends in a day.
 */
export async function countHours(
  pool: Pool,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
): Promise<readonly HourCount[]> {
  const before = countedBefore.get(pool)
  const isOfUse = before !== undefined && before.sinceMs <= sinceMs && before.untilMs >= sinceMs
  const known = isOfUse ? before.hours.filter(({ startMs }) => startMs >= sinceMs) : []
  const { rows } = await pool.query<HourCount>({
    name: 'count-hours',
    text: countSql,
    values: [isOfUse ? before.untilMs : sinceMs],
  })
  const hours = [...known, ...rows]
  const untilMs = Math.max(sinceMs, Math.floor((nowMs - finalMs) / hourMs) * hourMs)
  const over = hours.filter(({ startMs }) => startMs < untilMs)
  countedBefore.set(pool, { sinceMs, untilMs, hours: over })
  return hours
}

/** Reads the index `ledger_end` alone, and of it only the period of each account. */
const countSql = `
  select (extract(epoch from hour) * 1000)::float8 as "startMs",
    coalesce(sum(ends) filter (where kind = 'settle'), 0)::bigint as succeeded,
    coalesce(sum(ends) filter (where kind = 'release'), 0)::bigint as failed,
    coalesce(sum(credits) filter (where kind = 'settle'), 0)::bigint as credits
  from (
    select date_bin('1 hour', created_at, timestamptz '1970-01-01 00:00:00Z') as hour, kind,
      count(*) as ends, sum(credits) as credits
    from ledger
    where kind in ('settle', 'release')
      and created_at >= to_timestamp($1::float8 / 1000) and created_at < 'infinity'
    group by 1, 2
  ) counted
  group by hour order by hour`
