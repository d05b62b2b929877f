import { depositCreditsMax } from './account.ts'

/**
 * The periods of a budget, in UTC. A week begins on Monday. The SQL function `budget_window` computes when a period
 * begins and ends.
 */
export const budgetPeriods = ['hour', 'day', 'week', 'month'] as const
export type BudgetPeriod = (typeof budgetPeriods)[number]

/** The submits of one key in one period may hold or spend at most `credits` together. */
export type Budget = { readonly credits: number; readonly period: BudgetPeriod }

/**
 * A budget and how much of it the submits of the current period hold or have spent. `refusalToTell` says whether a
 * webhook waits for the first submit that the budget refuses in this period.
 */
export type BudgetState = Budget & {
  readonly used: number
  readonly renewsAtMs: number
  readonly refusalToTell: boolean
}

/** What operators write, for the messages about something else. */
export const budgetForm = `credits per period, such as 5000/day; the periods are ${budgetPeriods.join(', ')}`

/** Parses a budget such as `5000/day`. Returns `undefined` for any other text. */
export function parseBudget(text: string): Budget | undefined {
  const [, digits, name] = /^([1-9]\d{0,12})\/([a-z]+)$/.exec(text) ?? []
  const period = budgetPeriods.find((each) => each === name)
  const credits = Number(digits)
  return period !== undefined && credits <= depositCreditsMax ? { credits, period } : undefined
}

/** Returns the budget as operators write it, such as `5000/day`. */
export function budgetText({ credits, period }: Budget): string {
  return `${credits}/${period}`
}
