import type { Account } from '../domain/accounts/account.ts'
import { assertNever } from '../domain/assertNever.ts'
import { accountCreditsMax, newAccountId } from '../domain/accounts/account.ts'
import { limitsJson, requestsLimitText } from '../domain/accounts/limits.ts'
import { defined } from '../domain/defined.ts'
import { isoTime } from '../domain/isoTime.ts'
import type { ModelId } from '../domain/models/models.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { AccountPage, TopUpRefusal } from '../store/accounts/accounts.ts'
import * as store from '../store/accounts/accounts.ts'
import type { NewLimits } from '../store/accounts/limits.ts'
import { setLimits } from '../store/accounts/limits.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { account } from '../schema/operators/accounts.ts'
import { audited } from './audit.ts'
import type { List, OperationDeps, OperationFailure } from './operation.ts'
import { listOf, pageOf } from './operation.ts'

export type AccountJson = AnswerOf<typeof account>

type AccountResult = Promise<Result<AccountJson, OperationFailure>>

export type NewAccount = {
  readonly name: string
  readonly credits: number
  readonly models?: readonly ModelId[]
  readonly limits?: NewLimits
}

/** Creates an account with its first deposit. Refused when the name is taken. */
export async function createAccount(
  deps: OperationDeps,
  { name, credits, models, limits }: NewAccount,
): AccountResult {
  const params = { credits, models, ...(limits && limitsParams(limits)) }
  const change = { action: 'account.create', target: name, params }
  return audited(deps, change, async (client) => {
    const account = { accountId: newAccountId(), name, credits }
    if (!(await store.createAccount(client, { ...account, ...defined({ models }) }))) {
      const message = `An account named ${JSON.stringify(name)} already exists.`
      return fail({ kind: 'refused', code: 'account_exists', message })
    }
    if (limits !== undefined) await setLimits(client, name, limits)
    return found(await store.findAccount(client, name), name)
  })
}

export type Topup = {
  readonly name: string
  /** Not zero. A negative number takes back credits that are available. */
  readonly credits: number
  /** The operator's name for this movement of the account. A second one with the same name moves nothing. */
  readonly topupId?: string
}

/** Moves credits into an account or out of it. */
export async function topUpAccount(
  deps: OperationDeps,
  { name, credits, topupId }: Topup,
): Promise<
  Result<{ topup_id: string | null; credits: number; account: AccountJson }, OperationFailure>
> {
  const params = { credits, topup_id: topupId }
  return audited(deps, { action: 'account.topup', target: name, params }, async (client) => {
    const result = await store.topUp(client, name, credits, topupId)
    if (result !== undefined && 'refused' in result) return fail(topUpFailure(result))
    const account = found(result, name)
    if (!account.ok) return account
    return succeed({ topup_id: topupId ?? null, credits, account: account.value })
  })
}

function topUpFailure(refusal: TopUpRefusal): OperationFailure {
  switch (refusal.refused) {
    case 'beyond_limit':
      return {
        kind: 'refused',
        code: 'credits_limit_exceeded',
        message: `The deposit is too large: the credits of an account, including spent credits, are limited to ${accountCreditsMax}.`,
      }
    case 'not_available':
      return {
        kind: 'refused',
        code: 'insufficient_credits',
        message: `The account has ${refusal.available} credits available: no more can be taken back.`,
      }
    case 'other_credits':
      return {
        kind: 'refused',
        code: 'idempotency_conflict',
        message: `The topup with this id already moved ${refusal.credits} credits.`,
      }
    default:
      return assertNever(refusal)
  }
}

/** Sets the models that an account may use. Absent: all. Tasks that are accepted already are made. */
export async function setAccountModels(
  deps: OperationDeps,
  { name, models }: { readonly name: string; readonly models?: readonly ModelId[] },
): AccountResult {
  const change = { action: 'account.models', target: name, params: { models: models ?? null } }
  return audited(deps, change, async (client) => {
    await store.setModels(client, name, models)
    return found(await store.findAccount(client, name), name)
  })
}

/** Sets or removes limits of an account. Null: no limit. Absent: as before. */
export async function setAccountLimits(
  deps: OperationDeps,
  { name, limits }: { readonly name: string; readonly limits: NewLimits },
): AccountResult {
  const change = { action: 'account.limit', target: name, params: limitsParams(limits) }
  return audited(deps, change, async (client) => {
    await setLimits(client, name, limits)
    return found(await store.findAccount(client, name), name)
  })
}

/** Sets the models, the limits, or both. Each has its own row of the audit. What is absent stays as it is. */
export async function changeAccount(
  deps: OperationDeps,
  {
    name,
    models,
    limits,
  }: {
    readonly name: string
    /** Null: all. */
    readonly models?: readonly ModelId[] | null | undefined
    readonly limits?: NewLimits | undefined
  },
): AccountResult {
  if (models !== undefined) {
    const set = await setAccountModels(deps, { name, ...defined({ models }) })
    if (!set.ok || limits === undefined) return set
  }
  return limits === undefined ? showAccount(deps, name) : setAccountLimits(deps, { name, limits })
}

function limitsParams({ requests, liveTasks }: NewLimits) {
  return { requests: requests && requestsLimitText(requests), live_tasks: liveTasks }
}

export async function showAccount({ pool }: OperationDeps, name: string): AccountResult {
  return found(await store.findAccount(pool, name), name)
}

/** Lists accounts by name. */
export async function listAccounts(
  { pool }: OperationDeps,
  page: AccountPage = {},
): Promise<List<AccountJson>> {
  return listOf((await store.listAccounts(pool, pageOf(page))).map(accountJson), page.limit)
}

/** The failure for the name of no account. */
export function noAccount(name: string): OperationFailure {
  return { kind: 'not_found', what: `account named ${JSON.stringify(name)}` }
}

function found(account: Account | undefined, name: string): Result<AccountJson, OperationFailure> {
  return account === undefined ? fail(noAccount(name)) : succeed(accountJson(account))
}

function accountJson(account: Account): AccountJson {
  const { accountId, name, available, held, spent, models, limits, createdAtMs } = account
  return {
    account_id: accountId,
    name,
    available,
    held,
    spent,
    models: models ?? null,
    limits: limitsJson(limits),
    created_at: isoTime(createdAtMs),
  }
}
