import type { ModelId } from '../models/models.ts'

/** What the rows of usage are grouped by. Days are in UTC. */
export const usageGroups = ['day', 'model', 'key'] as const
export type UsageGroup = (typeof usageGroups)[number]

/** The length of the period when a query names no start: 30 days. */
export const usagePeriodHours = 720

/** Limit for the rows of one answer. A longer period or more groups need several requests. */
export const usageRowsMax = 10_000

/**
 * Asks for the ends of an account's tasks from `startTime` until before `endTime`. Both are ISO 8601 in UTC with
 * microseconds. Without `endTime`, the period ends now. Without `startTime`, it begins 30 days before its end.
 */
export type UsageQuery = {
  readonly startTime?: string
  readonly endTime?: string
  readonly groupBy: readonly UsageGroup[]
}

export type UsageCount = {
  readonly succeeded: number
  readonly failed: number
  /** The sum of the settlements. */
  readonly credits: number
}

/** One group. Only the fields by which the rows are grouped are present. */
export type UsageRow = UsageCount & {
  /** The start of the day, ISO 8601 in whole seconds. */
  readonly startTime?: string
  readonly model?: ModelId
  readonly keyId?: string
}

export type Usage = {
  readonly startTime: string
  readonly endTime: string
  readonly rows: readonly UsageRow[]
}
