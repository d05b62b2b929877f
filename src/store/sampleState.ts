import type { Pool } from 'pg'
import type { StateSample } from '../domain/ports/stateSample.ts'

/**
 * Creates the function that reads the values of the metrics' gauges. Counting ended tasks and pending deliveries takes
 * longer the more there are, so a count that takes long is used again for a while (`createSlowCount`).
 */
export function createSampleState(pool: Pool): () => Promise<StateSample> {
  const countKept = createSlowCount(() => readOne<Kept>(pool, 'sample-kept', keptSql))
  return async () => {
    const [live, kept] = await Promise.all([
      readOne<Live>(pool, 'sample-live', liveSql),
      countKept(),
    ])
    const ended = [
      { status: 'succeeded', count: kept.images, oldestSeconds: 0 },
      { status: 'failed', count: kept.failed, oldestSeconds: 0 },
    ]
    return {
      ...live,
      tasks: [...live.tasks, ...ended],
      blobBytes: kept.bytes,
      webhooks: { ...live.webhooks, pending: kept.pending },
    }
  }
}

type Live = Omit<StateSample, 'blobBytes' | 'webhooks'> & {
  readonly webhooks: Omit<StateSample['webhooks'], 'pending'>
}

/** What there can be very many of. */
type Kept = {
  /** Succeeded tasks with an image. */
  readonly images: number
  /** Failed tasks with a record. */
  readonly failed: number
  /** Bytes of the images, and of the inputs of all tasks. */
  readonly bytes: number
  /** Deliveries to webhooks that are not over. */
  readonly pending: number
}

/** A count that took at most this long is made again for every sample. */
const quickMsMax = 50

/** A longer count is used for this many times as long as it took, so that counting takes a hundredth of the time. */
const useFactor = 100
const useMsMax = 60_000

/** A sample waits for a new count when the last one is older than this. */
const oldMsMax = 300_000

/**
 * Creates a function that returns a count. It waits for a new count when the last one was quick, or is old. Otherwise
 * it returns the last one, and makes a new one meanwhile when the last one was used long enough.
 */
export function createSlowCount<Count>(
  read: () => Promise<Count>,
  nowMs: () => number = () => performance.now(),
): () => Promise<Count> {
  let last: { readonly count: Count; readonly tookMs: number; readonly atMs: number } | undefined
  let reading: Promise<Count> | undefined

  const readAgain = async () => {
    const startedAtMs = nowMs()
    try {
      const count = await read()
      last = { count, tookMs: nowMs() - startedAtMs, atMs: nowMs() }
      return count
    } catch (error) {
      // The next sample waits for its count and reports the error.
      last = undefined
      throw error
    } finally {
      reading = undefined
    }
  }

  return async () => {
    const isUsable =
      last !== undefined && last.tookMs > quickMsMax && nowMs() - last.atMs < oldMsMax
    const slow = isUsable ? last : undefined
    if (slow !== undefined && nowMs() - slow.atMs < Math.min(useFactor * slow.tookMs, useMsMax)) {
      return slow.count
    }
    reading ??= readAgain()
    if (slow === undefined) return reading
    reading.catch(() => {})
    return slow.count
  }
}

async function readOne<Value>(pool: Pool, name: string, text: string): Promise<Value> {
  const { rows } = await pool.query<{ sample: Value }>({ name, text })
  const sample = rows[0]?.sample
  if (sample === undefined) throw new Error('Bug: a select of constants returned no row')
  return sample
}

/**
 * Counts in indexes alone, because the tables keep every record for days. A succeeded task counts until its image
 * expires.
 */
export const keptSql = `
  with kept as materialized (
    select count(*) as count, coalesce(sum(asset_bytes), 0) as bytes
    from task where status = 'succeeded' and expires_at > now()
  )
  select json_build_object(
    'images', (select count from kept),
    'failed', (select count(*) from task where status = 'failed'),
    'bytes', (select bytes from kept)
      + (select coalesce(sum(bytes), 0) from upload where kind = 'input'),
    'pending', (select count(*) from webhook_delivery where status = 'pending')
  ) as sample`

/** Reads everything else. Live tasks are found by their partial index. */
export const liveSql = `
  with live as materialized (
    select status, created_at, credits from task where status in ('queued', 'processing')
  )
  select json_build_object(
    'tasks', (select coalesce(json_agg(t), '[]') from (
      select status, count(*) as count,
        extract(epoch from now() - min(created_at)) as "oldestSeconds"
      from live group by status) t),
    'creditsHeld', (select coalesce(sum(held), 0) from balance),
    'holdsOpen', (select count(*) from live where credits > 0),
    'channels', (select coalesce(json_agg(c), '[]') from (
      select name as channel, paused_at is not null as paused,
        (select count(*) from attempt a where a.channel = name and closed_at is null
          and lease_until > now()) as open
      from channel) c),
    'cooldowns', (select coalesce(json_agg(d), '[]') from (
      select channel, model, extract(epoch from until_at - now()) as seconds
      from cooldown where until_at > now()) d),
    'webhooks', json_build_object(
      'failing', (select count(*) from webhook where failing_since is not null and status = 'active'),
      'oldestSeconds', (select coalesce(extract(epoch from now() - min(created_at)), 0)
        from webhook_delivery where status = 'pending'),
      'firstLateSeconds', (select coalesce(extract(epoch from now() - min(first_due)), 0)
        from webhook w cross join lateral (
          select min(next_attempt_at) as first_due from webhook_delivery d
          where d.webhook_id = w.webhook_id and status = 'pending' and tries = 0
            and next_attempt_at < now()) each
        where failing_since is null))
  ) as sample`
