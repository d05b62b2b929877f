import type { Channel } from '../domain/upstream/channel.ts'
import { readUsage } from '../store/accounts/readUsage.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { overview, queue } from '../schema/operators/overview.ts'
import type { Found } from '../store/operator/findById.ts'
import { findById } from '../store/operator/findById.ts'
import { readOverview } from '../store/operator/readOverview.ts'
import { readQueue } from '../store/operator/readQueue.ts'
import type { List, OperationDeps } from './operation.ts'
import { listOf } from './operation.ts'

/** `days`: today and the 13 days before it. */
export type OverviewJson = AnswerOf<typeof overview>

const daysShown = 14
const dayMs = 86_400_000

/** Shows how the installation is doing. The days are counted a moment after the rest. */
export async function showOverview({ pool }: Pick<OperationDeps, 'pool'>): Promise<OverviewJson> {
  const now = await readOverview(pool)
  const nowMs = Date.parse(now.at)
  const todayMs = nowMs - (nowMs % dayMs)
  const sinceMs = todayMs - (daysShown - 1) * dayMs
  const startTime = new Date(sinceMs).toISOString()
  const usage = await readUsage(pool, undefined, { startTime, groupBy: ['day'] })
  if (usage === 'too_many_rows') throw new Error('Bug: two weeks have too many days')
  const days = Array.from({ length: daysShown }, (_, n): OverviewJson['days'][number] => {
    const day = new Date(sinceMs + n * dayMs).toISOString().slice(0, 10)
    const ends = usage.rows.find((row) => row.startTime?.startsWith(day))
    const { succeeded = 0, failed = 0, credits = 0 } = ends ?? {}
    return { day, succeeded, failed, credits }
  })
  return { object: 'overview', ...now, days }
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
  return listOf(await findById(pool, id))
}
