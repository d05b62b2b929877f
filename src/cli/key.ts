import type { Command } from 'commander'
import type { Answer } from './answer.ts'
import { accountNamed, existing, fields, shortTime, table } from './answer.ts'
import { isoTime, isoTimeOrNull } from '../domain/isoTime.ts'
import { createCommand, createGroup } from './command.ts'
import type { CliContext } from './context.ts'
import type { ApiKey } from '../domain/accounts/account.ts'
import type { Budget } from '../domain/accounts/budget.ts'
import { budgetText } from '../domain/accounts/budget.ts'
import { defined } from '../domain/defined.ts'
import { parseBudget, parseBudgetOrNone, parseDaysAsMs } from './parse.ts'

/** Makes the commands `key create`, `list`, `budget` and `revoke`. */
export function keyCommands(context: CliContext): Command {
  return createGroup(context, 'key', 'API keys', [create, list, budget, revoke])
}

type CreateOptions = { readonly expiresDays?: number; readonly budget?: Budget }

function create(context: CliContext): Command {
  return createCommand(
    'create <account>',
    'create an API key and show its secret, which cannot be shown again',
    'key create acme',
    'key create acme --expires-days 0.5 --json',
    'key create acme --budget 5000/day',
  )
    .option(
      '--expires-days <n>',
      'days until the key expires, decimals allowed (default: never)',
      parseDaysAsMs,
    )
    .option(
      '--budget <credits/period>',
      'credits that the key may hold per hour, day, week or month (default: no budget)',
      parseBudget,
    )
    .action(async (account: string, options: CreateOptions) => {
      // Commander names this value after the option `--expires-days`, but `parseDaysAsMs` returned
      // milliseconds.
      const { expiresDays: expiresInMs, budget: limit } = options
      const { issueKey } = await context.database()
      const issued = await issueKey(account, defined({ expiresInMs, budget: limit }))
      const { key, secret } = existing(issued, accountNamed(account))
      context.show({
        json: { key_id: key.keyId, secret },
        text: fields({
          'key id': key.keyId,
          secret: `${secret}  (cannot be shown again: store it now)`,
          expires: shortTime(key.expiresAtMs) ?? 'never',
          budget: key.budget === undefined ? 'none' : budgetText(key.budget),
        }),
      })
    })
}

function list(context: CliContext): Command {
  return createCommand(
    'list <account>',
    'list the API keys of an account, oldest first, without their secrets',
    'key list acme',
  ).action(async (name: string) => {
    const { accounts } = await context.database()
    const { accountId } = existing(await accounts.findAccount(name), accountNamed(name))
    const keys = await accounts.listKeys(accountId)
    context.show({ json: keys.map(keyJson), text: keyTable(keys) })
  })
}

/**
 * `key budget`: sets or removes the budget of a key. What the submits of the current period hold or have spent
 * counts against a new budget from the start.
 */
function budget(context: CliContext): Command {
  return createCommand(
    'budget',
    'set or remove the budget of an API key; the present period counts from its start',
    'key budget key_8xKQm2vT0aYc4hLd 5000/day',
    'key budget key_8xKQm2vT0aYc4hLd none',
  )
    .argument('<key-id>', 'the key')
    .argument('<budget>', 'credits per hour, day, week or month in UTC, or none', parseBudgetOrNone)
    .action(async (keyId: string, limit: Budget | undefined) => {
      const { setBudget } = await context.database()
      context.show(keyAnswer(keyId, await setBudget(keyId, limit)))
    })
}

/**
 * `key revoke`: revokes a key. When the key is already revoked, succeeds and keeps the first `revoked_at`.
 */
function revoke(context: CliContext): Command {
  return createCommand(
    'revoke <key-id>',
    'revoke an API key at once; tasks that it submitted continue',
    'key revoke key_8xKQm2vT0aYc4hLd',
  ).action(async (keyId: string) => {
    const { accounts } = await context.database()
    context.show(keyAnswer(keyId, await accounts.revokeKey(keyId)))
  })
}

function keyAnswer(keyId: string, found: ApiKey | undefined): Answer {
  const key = existing(found, `API key ${JSON.stringify(keyId)}`)
  return { json: keyJson(key), text: keyTable([key]) }
}

function keyJson({ keyId, prefix, createdAtMs, expiresAtMs, revokedAtMs, budget: state }: ApiKey) {
  return {
    key_id: keyId,
    prefix,
    created_at: isoTime(createdAtMs),
    expires_at: isoTimeOrNull(expiresAtMs),
    revoked_at: isoTimeOrNull(revokedAtMs),
    budget: state === undefined ? null : budgetText(state),
    used: state?.used ?? null,
    renews_at: isoTimeOrNull(state?.renewsAtMs),
  }
}

function keyTable(keys: readonly ApiKey[]): string {
  return table(
    ['KEY ID', 'PREFIX', 'CREATED', 'EXPIRES', 'REVOKED', 'BUDGET', 'USED', 'RENEWS'],
    keys.map(({ keyId, prefix, createdAtMs, expiresAtMs, revokedAtMs, budget: state }) => [
      keyId,
      `${prefix}…`,
      shortTime(createdAtMs),
      shortTime(expiresAtMs),
      shortTime(revokedAtMs),
      state && budgetText(state),
      state?.used,
      shortTime(state?.renewsAtMs),
    ]),
    'No API keys yet. Create one: darkroom key create ACCOUNT',
  )
}
