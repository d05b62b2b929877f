import type { ModelId } from '../models/models.ts'

/** What the rows of usage are grouped by. Days are in UTC. */
export const usageGroups = ['day', 'model', 'key'] as const
export type UsageGroup = (typeof usageGroups)[number]

/** What an operator's rows are grouped by. An outcome is `succeeded` or `failed`. */
export const operatorUsageGroups = ['account', 'key', 'model', 'channel', 'outcome', 'day'] as const
export type OperatorUsageGroup = (typeof operatorUsageGroups)[number]

/** The length of the period when a query names no start: 30 days. */
export const usagePeriodHours = 720

/** Limit for the rows of one answer. A longer period or more groups need several requests. */
export const usageRowsMax = 10_000

/**
 * Asks for the ends of tasks from `startTime` until before `endTime`. Both are ISO 8601 in UTC with
 * microseconds. Without `endTime`, the period ends now. Without `startTime`, it begins 30 days before its end.
 */
export type UsageQuery = {
  readonly startTime?: string
  readonly endTime?: string
  readonly groupBy: readonly OperatorUsageGroup[]
}

export type UsageCount = {
  readonly tasks: { readonly succeeded: number; readonly failed: number }
  /** The sum of the settlements. */
  readonly credits: number
}

/** One group. Only the fields by which the rows are grouped are present. */
export type UsageRow = UsageCount & {
  /** `2026-01-31`. */
  readonly day?: string
  readonly model?: ModelId
  readonly key_id?: string
  /** The name of the account. */
  readonly account?: string
  /** The channel that made the image, or the last one that a failed task was sent to. Absent: there was none. */
  readonly channel?: string
  readonly outcome?: 'succeeded' | 'failed'
}

/** As answers have it. The period is in ISO 8601. */
export type Usage = {
  readonly start_time: string
  readonly end_time: string
  readonly data: readonly UsageRow[]
  readonly total: UsageCount
}

/** The field of a row by which the rows are grouped. */
export function usageField(group: OperatorUsageGroup) {
  return group === 'key' ? 'key_id' : group
}

/** The cells of a count, for CSV. */
export function usageCells({ tasks, credits }: UsageCount): readonly number[] {
  return [tasks.succeeded, tasks.failed, credits]
}
