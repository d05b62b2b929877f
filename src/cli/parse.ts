import { InvalidArgumentError } from 'commander'
import {
  accountNamePattern,
  depositCreditsMax,
  topupIdPattern,
} from '../domain/accounts/account.ts'
import type { Budget } from '../domain/accounts/budget.ts'
import * as budgets from '../domain/accounts/budget.ts'
import type { RequestsLimit } from '../domain/accounts/accountLimits.ts'
import {
  liveTasksLimitMax,
  parseRequestsLimit,
  requestsLimitMax,
  requestsPeriods,
} from '../domain/accounts/accountLimits.ts'
import type { IdName } from '../domain/ids.ts'
import { wrongId } from '../domain/ids.ts'
import type { Since } from '../domain/lists/since.ts'
import type { ModelId } from '../domain/models/models.ts'
import { modelForm, modelFormText } from '../domain/models/models.ts'
import { pauseReasonForm, pauseReasonPattern } from '../domain/upstream/channel.ts'
import { parseInstant } from '../schema/instant.ts'

// The functions of this file parse arguments and options. Each throws `InvalidArgumentError` for a wrong value,
// which Commander reports as wrong usage, with exit code 2.

const limitMax = 10_000
const expiresDaysMax = 36_500

/** Parses the name of a new account. Commands that look up an account accept any text instead. */
export function parseAccountName(text: string): string {
  if (accountNamePattern.test(text)) return text
  throw new InvalidArgumentError(
    'A name has 1 to 100 letters, digits and . _ @ + - and starts with a letter or digit.',
  )
}

/** Parses the initial credits of an account. 0 makes no deposit. */
export const parseInitialCredits = wholeNumberParser('Credits are', 0, depositCreditsMax)
const parseDeposit = wholeNumberParser('A topup is, with or without a minus,', 1, depositCreditsMax)
const parseCreditsBelow = wholeNumberParser('An alert is', 1, depositCreditsMax)
const parseLiveTasksLimit = wholeNumberParser('A limit of live tasks is', 1, liveTasksLimitMax)
/** Parses the value of `--limit`: how many rows a command lists, or how many tasks it retries, at most. */
export const parseLimit = wholeNumberParser('A limit is', 1, limitMax)

/** Parses the id of a row of the audit. */
export const parseAuditId = wholeNumberParser('An id of the audit is', 1, Number.MAX_SAFE_INTEGER)

/** Parses the credits of a topup, which are below 0 when they are taken back. */
export function parseTopup(text: string): number {
  return text.startsWith('-') ? -parseDeposit(text.slice(1)) : parseDeposit(text)
}

/** Parses the operator's name for a topup. */
export function parseTopupId(text: string): string {
  if (topupIdPattern.test(text)) return text
  throw new InvalidArgumentError('An id has 1 to 100 visible ASCII characters without spaces.')
}

function wholeNumberParser(subject: string, min: number, max: number) {
  return (text: string): number => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`${subject} a whole number from ${min} to ${max}.`)
  }
}

/** Parses the name of a model. It checks its form alone: tasks may have a model that the operator's file has lost. */
export function parseModel(text: string): ModelId {
  if (modelForm.test(text)) return text
  throw new InvalidArgumentError(`A model has ${modelFormText}.`)
}

/** Parses names of models separated by commas, at least one. Removes duplicates. */
export function parseModels(text: string): readonly ModelId[] {
  return [...new Set(text.split(',').map((name) => parseModel(name.trim())))]
}

/** Parses names of models separated by commas, or `all`. */
export function parseModelsOrAll(text: string): readonly ModelId[] | undefined {
  return text === 'all' ? undefined : parseModels(text)
}

/** Parses a number of days. Decimals are allowed. */
export function parseDays(text: string): number {
  const days = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
  if (days > 0 && days <= expiresDaysMax) return days
  throw new InvalidArgumentError(
    `Days are a number above 0, at most ${expiresDaysMax}. Decimals are allowed: 0.5 is 12 hours.`,
  )
}

/** Parses a budget, such as `5000/day`. */
export function parseBudget(text: string): Budget {
  const budget = budgets.parseBudget(text)
  if (budget !== undefined) return budget
  throw new InvalidArgumentError(`Write ${budgets.budgetForm}.`)
}

/** Parses a budget, or `none`. */
export function parseBudgetOrNone(text: string): Budget | undefined {
  return text === 'none' ? undefined : parseBudget(text)
}

/** Parses a limit of requests, such as `60/minute`, or `none`. */
export function parseRequests(text: string): RequestsLimit | 'none' {
  const limit = text === 'none' ? text : parseRequestsLimit(text)
  if (limit !== undefined) return limit
  throw new InvalidArgumentError(
    `Write 60/minute, or none: 1 to ${requestsLimitMax} per ${requestsPeriods.join(', ')}.`,
  )
}

/** Parses a limit of live tasks, or `none`. */
export function parseLiveTasks(text: string): number | 'none' {
  return text === 'none' ? text : parseLiveTasksLimit(text)
}

/** Parses below how many credits webhooks are told, or `none`. */
export function parseAlert(text: string): number | 'none' {
  return text === 'none' ? text : parseCreditsBelow(text)
}

export const parseTaskId = idParser('task_id')
export const parseKeyId = idParser('key_id')
export const parseWebhookId = idParser('webhook_id')
export const parseDeliveryId = idParser('delivery_id')

/** Parses what may be any id, also that of a vendor. */
export function parseAnyId(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('An id has at least one character.')
}

/** Makes a parser of ids. It checks their form alone, not whether something has the id. */
function idParser(name: IdName) {
  return (text: string): string => {
    const why = wrongId(name, text)
    if (why === undefined) return text
    throw new InvalidArgumentError(why)
  }
}

/** Parses the reason of a pause. */
export function parseReason(text: string): string {
  if (pauseReasonPattern.test(text)) return text
  throw new InvalidArgumentError(`A reason is ${pauseReasonForm}.`)
}

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

/**
 * Parses a time in the past: a duration before now (`90s`, `30m`, `2h`, `1d`), or an ISO 8601 time. One without an offset
 * is in UTC, as the tables of the commands are.
 */
export function parseSince(text: string): Since {
  const [, count, unit = ''] = /^(\d{1,6})([a-z])$/.exec(text) ?? []
  const unitMs = unitsMs.get(unit)
  if (unitMs !== undefined) return { agoMs: Number(count) * unitMs }
  const [, day, time = '00:00', offset] =
    /^(\d{4}-\d{2}-\d{2})(?:[ T]([\d:.]+)(.*))?$/i.exec(text) ?? []
  const at = day && parseInstant(`${day}T${time}${offset || 'Z'}`)
  if (at) return at
  throw new InvalidArgumentError('Write 90s, 30m, 2h, 1d, or an ISO 8601 time.')
}
