import { accountCreditsMax, newAccountId } from '../domain/accounts/account.ts'
import { requestsLimitText } from '../domain/accounts/accountLimits.ts'
import { defined } from '../domain/defined.ts'
import type { List } from '../domain/lists/list.ts'
import type { ModelTable } from '../domain/models/modelTable.ts'
import type { ModelId } from '../domain/models/models.ts'
import type { Result } from '../domain/result.ts'
import { mapValue, succeed } from '../domain/result.ts'
import type { AccountJson, AccountPage } from '../store/accounts/accountRows.ts'
import * as store from '../store/accounts/accountRows.ts'
import { setAlert } from '../store/accounts/setAlert.ts'
import type { NewLimits } from '../store/accounts/setLimits.ts'
import { setLimits } from '../store/accounts/setLimits.ts'
import { audited } from './audit.ts'
import type { Done, OperationDeps, OperationFailure } from './operation.ts'
import { found, invalidValue, listed, missing, refuse } from './operation.ts'

export type ModelDeps = OperationDeps & {
  /** Returns the models of the operator's file. */
  readonly models: () => ModelTable
}

/** Refuses the name of no model. */
function checkModels(
  { models }: ModelDeps,
  given: readonly ModelId[] = [],
): Result<undefined, OperationFailure> {
  const known = given.length === 0 ? undefined : models()
  if (given.every((model) => known?.has(model))) return succeed(undefined)
  return invalidValue('models', `The models are ${[...(known?.keys() ?? [])].join(', ')}.`)
}

export type NewAccount = {
  readonly name: string
  readonly credits: number
  readonly models?: readonly ModelId[]
  readonly limits?: NewLimits
}

/** Creates an account with its first deposit. Refused when the name is taken. */
export async function createAccount(
  deps: ModelDeps,
  { name, credits, models, limits }: NewAccount,
): Done<AccountJson> {
  const params = { credits, models, ...(limits && limitsParams(limits)) }
  const change = { action: 'account.create', target: name, params }
  return audited(deps, change, async (client) => {
    const checked = checkModels(deps, models)
    if (!checked.ok) return checked
    const account = { accountId: newAccountId(), name, credits }
    if (!(await store.createAccount(client, { ...account, ...defined({ models }) }))) {
      return refuse('account_exists', `An ${accountNamed(name)} already exists.`)
    }
    if (limits !== undefined) await setLimits(client, name, limits)
    return found(await store.findAccount(client, name), accountNamed(name))
  })
}

export type Topup = {
  readonly name: string
  /** Not zero. A negative number takes back credits that are available. */
  readonly credits: number
  /** The operator's name for this movement of the account. A second one with the same name moves nothing. */
  readonly topupId?: string
}

/** Moves credits into an account or out of it. A topup whose id the account has already had moves nothing. */
export async function topUpAccount(
  deps: OperationDeps,
  { name, credits, topupId }: Topup,
): Done<{ topup_id: string | null; credits: number; account: AccountJson }> {
  const params = { credits, topup_id: topupId }
  return audited(deps, { action: 'account.topup', target: name, params }, async (client) => {
    const balance = await store.lockBalance(client, name, topupId)
    if (balance === undefined) return missing(accountNamed(name))
    const { accountId, available, deposited, moved } = balance
    if (moved !== null && moved !== credits) {
      const message = `The topup with this id already moved ${moved} credits.`
      return refuse('idempotency_conflict', message)
    }
    if (moved === null && deposited + credits > accountCreditsMax) {
      const message = `The deposit is too large: the credits of an account, including spent credits, are limited to ${accountCreditsMax}.`
      return refuse('credits_limit_exceeded', message)
    }
    if (moved === null && available + credits < 0) {
      const message = `The account has ${available} credits available: no more can be taken back.`
      return refuse('insufficient_credits', message)
    }
    if (moved === null) await store.moveCredits(client, accountId, credits, topupId)
    const account = found(await store.findAccount(client, name), accountNamed(name))
    return mapValue(account, (json) => ({ topup_id: topupId ?? null, credits, account: json }))
  })
}

/** Sets the models that an account may use. Absent: all. Tasks that are accepted already are made. */
export async function setAccountModels(
  deps: ModelDeps,
  { name, models }: { readonly name: string; readonly models?: readonly ModelId[] },
): Done<AccountJson> {
  const change = { action: 'account.models', target: name, params: { models: models ?? null } }
  return audited(deps, change, async (client) => {
    const checked = checkModels(deps, models)
    if (!checked.ok) return checked
    await store.setModels(client, name, models)
    return found(await store.findAccount(client, name), accountNamed(name))
  })
}

/** Sets or removes limits of an account. Null: no limit. Absent: as before. */
export async function setAccountLimits(
  deps: OperationDeps,
  { name, limits }: { readonly name: string; readonly limits: NewLimits },
): Done<AccountJson> {
  const change = { action: 'account.limit', target: name, params: limitsParams(limits) }
  return audited(deps, change, async (client) => {
    await setLimits(client, name, limits)
    return found(await store.findAccount(client, name), accountNamed(name))
  })
}

/** Arms the alert of an account, as `setAlert` says. Null: none. */
export async function setAccountAlert(
  deps: OperationDeps,
  { name, below }: { readonly name: string; readonly below: number | null },
): Done<AccountJson> {
  const change = { action: 'account.alert', target: name, params: { below } }
  return audited(deps, change, async (client) => {
    await setAlert(client, name, below)
    return found(await store.findAccount(client, name), accountNamed(name))
  })
}

/** Sets models, limits and alert. Each has its own row of the audit. What is absent stays as it is. */
export async function changeAccount(
  deps: ModelDeps,
  {
    name,
    models,
    limits,
    alertBelow: below,
  }: {
    readonly name: string
    /** Null: all. */
    readonly models?: readonly ModelId[] | null | undefined
    readonly limits?: NewLimits | undefined
    readonly alertBelow?: number | null | undefined
  },
): Done<AccountJson> {
  const changes = [
    models !== undefined && (() => setAccountModels(deps, { name, ...defined({ models }) })),
    limits !== undefined && (() => setAccountLimits(deps, { name, limits })),
    below !== undefined && (() => setAccountAlert(deps, { name, below })),
  ]
  for (const change of changes) {
    const set = change && (await change())
    if (set && !set.ok) return set
  }
  return showAccount(deps, name)
}

function limitsParams({ requests, liveTasks }: NewLimits) {
  return { requests: requests && requestsLimitText(requests), live_tasks: liveTasks }
}

export async function showAccount({ pool }: OperationDeps, name: string): Done<AccountJson> {
  return found(await store.findAccount(pool, name), accountNamed(name))
}

/** Lists accounts, newest first. */
export async function listAccounts(
  { pool }: OperationDeps,
  page: AccountPage = {},
): Done<List<AccountJson>> {
  return listed(await store.listAccounts(pool, page))
}

/** Names an account in the failure for one that does not exist. */
export function accountNamed(name: string): string {
  return `account named ${JSON.stringify(name)}`
}
