import type { Command } from 'commander'
import type { Answer } from './answer.ts'
import { fields, shortTime, table, valueOf } from './answer.ts'
import { createCommand, createGroup } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import type { Budget } from '../domain/accounts/budget.ts'
import { defined } from '../domain/defined.ts'
import * as keys from '../operations/keys.ts'
import type { KeyJson } from '../store/accounts/apiKeys.ts'
import { parseBudget, parseBudgetOrNone, parseDays, parseKeyId } from './parse.ts'

/** Makes the commands `key create`, `list`, `budget` and `revoke`. */
export function keyCommands(context: CliContext): Command {
  return createGroup(context, 'key', 'API keys', [create, list, budget, revoke])
}

const dayMs = 86_400_000

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
      parseDays,
    )
    .option(
      '--budget <credits/period>',
      'credits that the key may hold per hour, day, week or month (default: no budget)',
      parseBudget,
    )
    .action(async (account: string, options: CreateOptions) => {
      const { expiresDays, budget: limit } = options
      const expiresInMs = expiresDays && expiresDays * dayMs
      const wanted = { account, ...defined({ expiresInMs, budget: limit }) }
      const key = valueOf(await keys.issueKey(await context.operator(), wanted))
      context.show({
        json: { key_id: key.key_id, secret: key.secret },
        text: fields({
          'key id': key.key_id,
          secret: `${key.secret}  (cannot be shown again: store it now)`,
          expires: shortTime(key.expires_at) ?? 'never',
          budget: key.budget ?? 'none',
        }),
      })
    })
}

function list(context: CliContext): Command {
  return createCommand(
    'list <account>',
    'list the API keys of an account, newest first, without their secrets',
    'key list acme',
  ).action(async (account: string) => {
    const { data } = valueOf(await keys.listAccountKeys(await context.operator(), { account }))
    context.show({ json: data.map(keyJson), text: keyTable(data) })
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
    .argument('<key-id>', 'the key', parseKeyId)
    .argument('<budget>', 'credits per hour, day, week or month in UTC, or none', parseBudgetOrNone)
    .action(async (keyId: string, limit: Budget | undefined) => {
      const wanted = { keyId, ...defined({ budget: limit }) }
      const set = await keys.setKeyBudget(await context.operator(), wanted)
      context.show(keyAnswer(valueOf(set)))
    })
}

/**
 * `key revoke`: revokes a key. When the key is already revoked, succeeds and keeps the first `revoked_at`.
 */
function revoke(context: CliContext): Command {
  return createCommand(
    'revoke',
    'revoke an API key at once; tasks that it submitted continue',
    'key revoke key_8xKQm2vT0aYc4hLd',
  )
    .argument('<key-id>', 'the key', parseKeyId)
    .action(async (keyId: string) => {
      context.show(keyAnswer(valueOf(await keys.revokeApiKey(await context.operator(), keyId))))
    })
}

function keyAnswer(key: KeyJson): Answer {
  return { json: keyJson(key), text: keyTable([key]) }
}

/** Returns the JSON of a key. The commands name the account already. */
function keyJson({ account: _account, ...key }: KeyJson) {
  return key
}

function keyTable(listed: readonly KeyJson[]): string {
  return table(
    ['KEY ID', 'PREFIX', 'PEPPER', 'CREATED', 'EXPIRES', 'REVOKED', 'BUDGET', 'USED', 'RENEWS'],
    listed.map((key) => [
      key.key_id,
      `${key.prefix}…`,
      key.pepper_id,
      shortTime(key.created_at),
      shortTime(key.expires_at),
      shortTime(key.revoked_at),
      key.budget,
      key.used,
      shortTime(key.renews_at),
    ]),
    'No API keys yet. Create one: darkroom key create ACCOUNT',
  )
}
