import type { Pool } from 'pg'
import type { UsageQuery, UsageRow } from '../domain/accounts/usageQuery.ts'
import { isoTime } from '../domain/isoTime.ts'
import type { List } from '../domain/lists/list.ts'
import type { Channel } from '../domain/upstream/channel.ts'
import { readUsage } from '../store/accounts/readUsage.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { overview, queue } from '../schema/operators/operatorOverview.ts'
import type { Found } from '../store/operator/findById.ts'
import { findById } from '../store/operator/findById.ts'
import { readOverview } from '../store/operator/readOverview.ts'
import { readQueue } from '../store/operator/readQueue.ts'
import type { OperationDeps } from './operation.ts'

/** `days`: today and the 13 days before it. */
export type OverviewJson = AnswerOf<typeof overview>

const daysShown = 14
const dayMs = 86_400_000
/** After this time no end of a day is still being written. */
const finalMs = 60_000

/** Shows how the installation is doing. The days are counted a moment after the rest. */
export async function showOverview({ pool }: Pick<OperationDeps, 'pool'>): Promise<OverviewJson> {
  const now = await readOverview(pool)
  const nowMs = Date.parse(now.at)
  const todayMs = nowMs - (nowMs % dayMs)
  const rows = [
    ...(await daysBefore(pool, todayMs, nowMs)),
    ...(await countDays(pool, { startTime: isoTime(todayMs) })),
  ]
  const days = Array.from({ length: daysShown }, (_, n): OverviewJson['days'][number] => {
    const day = isoTime(todayMs - (daysShown - 1 - n) * dayMs).slice(0, 10)
    const ends = rows.find((row) => row.day === day)
    return { day, succeeded: 0, failed: 0, ...ends?.tasks, credits: ends?.credits ?? 0 }
  })
  return { object: 'overview', ...now, days }
}

type Counted = { readonly todayMs: number; readonly rows: readonly UsageRow[] }
/** The days before today. They do not change any more, and a million ends take a second to count. */
const countedBefore = new WeakMap<Pool, Counted>()

async function daysBefore(
  pool: Pool,
  todayMs: number,
  nowMs: number,
): Promise<readonly UsageRow[]> {
  const before = countedBefore.get(pool)
  if (before?.todayMs === todayMs) return before.rows
  const startTime = isoTime(todayMs - (daysShown - 1) * dayMs)
  const rows = await countDays(pool, { startTime, endTime: isoTime(todayMs) })
  if (nowMs - todayMs > finalMs) countedBefore.set(pool, { todayMs, rows })
  return rows
}

async function countDays(
  pool: Pool,
  period: Pick<UsageQuery, 'startTime' | 'endTime'>,
): Promise<readonly UsageRow[]> {
  const usage = await readUsage(pool, undefined, { ...period, groupBy: ['day'] })
  if (usage === 'too_many_rows') throw new Error('Bug: two weeks have too many days')
  return usage.data
}

export type QueueJson = AnswerOf<typeof queue>

export type QueueDeps = Pick<OperationDeps, 'pool'> & {
  /** Returns the channels of the operator's file. */
  readonly channels: () => readonly Channel[]
}

/** Shows who waits, since when and for what. */
export async function showQueue({ pool, channels }: QueueDeps): Promise<QueueJson> {
  return { object: 'queue', ...(await readQueue(pool, channels())) }
}

/** Finds what a customer names by any id. `id` contains no NUL, which PostgreSQL has no text for. */
export async function find(
  { pool }: Pick<OperationDeps, 'pool'>,
  id: string,
): Promise<List<Found>> {
  return findById(pool, id)
}
