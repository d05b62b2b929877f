/** The periods of a limit of requests, with their lengths. */
const periodSeconds = { second: 1, minute: 60, hour: 3_600 } as const
export type RequestsPeriod = keyof typeof periodSeconds
export const requestsPeriods = ['second', 'minute', 'hour'] as const satisfies RequestsPeriod[]

/** Limits for the limits themselves. */
export const requestsLimitMax = 100_000
export const liveTasksLimitMax = 1_000_000

/** A live task may end at any time. */
const liveTasksRetrySeconds = 5

/**
 * An account may make `limit` tasks at once. Each request that made one is refilled, one in every `period / limit`, so
 * that no period has an edge.
 */
export type RequestsLimit = { readonly limit: number; readonly period: RequestsPeriod }

/**
 * A limit of requests and how much of it is used, by the Generic Cell Rate Algorithm (ITU-T I.371). `refillUs` is the
 * time until all requests are refilled. Each request adds one interval of `period / limit`, and time takes it away.
 * Another request fits while `limit - 1` intervals or less are left. The SQL functions `request_fits` and
 * `request_taken` decide.
 */
export type RequestsState = RequestsLimit & { readonly refillUs: number }

export type LiveTasksState = {
  readonly limit: number
  /** The tasks of the account that have not ended. */
  readonly used: number
}

/** What an account may do, and how much of it is used. Absent: no limit. */
export type LimitsState = {
  readonly requests?: RequestsState
  readonly liveTasks?: LiveTasksState
}

/** Why an account may make no task now. */
export type OverLimit =
  | { readonly tag: 'too_many_requests'; readonly requests: RequestsState }
  | {
      readonly tag: 'too_many_live_tasks'
      readonly liveTasksLimit: number
      readonly requests?: RequestsState
    }

/** Parses a limit such as `60/minute`. Returns `undefined` for any other text, and for a limit out of bounds. */
export function parseRequestsLimit(text: string): RequestsLimit | undefined {
  const [, digits, name] = /^([1-9]\d{0,9})\/([a-z]+)$/.exec(text) ?? []
  const period = requestsPeriods.find((one) => one === name)
  const limit = Number(digits)
  return period !== undefined && limit <= requestsLimitMax ? { limit, period } : undefined
}

/** Returns the limit as operators write it, such as `60/minute`. */
export function requestsLimitText({ limit, period }: RequestsLimit): string {
  return `${limit}/${period}`
}

/** The length of the period of a limit. */
export function windowSeconds({ period }: RequestsLimit): number {
  return periodSeconds[period]
}

/** How many requests fit now. */
export function requestsRemaining(state: RequestsState): number {
  const fits = Math.floor(state.limit - state.refillUs / intervalUs(state))
  return Math.min(state.limit, Math.max(0, fits))
}

/** After how many whole seconds one request more fits than now, at least 1. */
export function nextRequestSeconds(state: RequestsState): number {
  const used = state.limit - requestsRemaining(state)
  const waitUs = state.refillUs - (used - 1) * intervalUs(state)
  return Math.max(1, Math.ceil(waitUs / 1_000_000))
}

/** Names the limit that is reached. */
export function overLimitText(over: OverLimit): string {
  if (over.tag === 'too_many_live_tasks') {
    return `The limit of live tasks of this account is ${over.liveTasksLimit}.`
  }
  const { limit, period } = over.requests
  return `The limit of requests of this account is ${limit} per ${period}.`
}

/** After how many seconds a client may try again: for requests, when the next one fits. */
export function overLimitSeconds(over: OverLimit): number {
  return over.tag === 'too_many_live_tasks'
    ? liveTasksRetrySeconds
    : nextRequestSeconds(over.requests)
}

/** Returns the limits as answers have them. Null: no limit. */
export function limitsJson({ requests, liveTasks }: LimitsState) {
  return {
    requests:
      requests === undefined
        ? null
        : {
            limit: requests.limit,
            period: requests.period,
            remaining: requestsRemaining(requests),
          },
    live_tasks: liveTasks ?? null,
  }
}

/** The interval in whole microseconds, which is what PostgreSQL's timestamps have. As the column `requests_interval`. */
function intervalUs({ limit, period }: RequestsLimit): number {
  return Math.round((periodSeconds[period] * 1_000_000) / limit)
}
