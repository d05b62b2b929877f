import type { Command } from 'commander'
import {
  fields,
  isoTime,
  isoTimeOrNull,
  noSuchAccount,
  CommandError,
  shortTime,
  table,
} from './answer.ts'
import { createCommand, createCommandGroup } from './command.ts'
import type { CliContext } from './context.ts'
import type { ApiKey } from '../domain/accounts/account.ts'
import { parseDaysAsMs } from './parse.ts'

/** Makes the commands `key create`, `list` and `revoke`. */
export function keyCommands(context: CliContext): Command {
  return createCommandGroup('key', 'API keys', [create(context), list(context), revoke(context)])
}

function create(context: CliContext): Command {
  return createCommand({
    usage: 'create <account>',
    description: 'create an API key and show its secret, which cannot be shown again',
    examples: ['key create acme', 'key create acme --expires-days 0.5 --json'],
  })
    .option(
      '--expires-days <n>',
      'days until the key expires, decimals allowed (default: never)',
      parseDaysAsMs,
    )
    .action(async (account: string, options: { readonly expiresDays?: number }) => {
      // Commander names this value after the option `--expires-days`, but `parseDaysAsMs` returned
      // milliseconds.
      const { expiresDays: expiresInMs } = options
      const issueKey = await context.parts.issueKey()
      const issued = await issueKey(account, expiresInMs)
      if (issued === undefined) throw noSuchAccount(account)
      const { key, secret } = issued
      context.show({
        json: { key_id: key.keyId, secret },
        text: fields({
          'key id': key.keyId,
          secret: `${secret}  (cannot be shown again: store it now)`,
          expires: shortTime(key.expiresAtMs) ?? 'never',
        }),
      })
    })
}

function list(context: CliContext): Command {
  return createCommand({
    usage: 'list <account>',
    description: 'list the API keys of an account, oldest first, without their secrets',
    examples: ['key list acme'],
  }).action(async (name: string) => {
    const accounts = await context.parts.accounts()
    const account = await accounts.findAccount(name)
    if (account === undefined) throw noSuchAccount(name)
    const keys = await accounts.listKeys(account.accountId)
    context.show({ json: keys.map(keyJson), text: keyTable(keys) })
  })
}

/**
 * `key revoke`: revokes a key. When the key is already revoked, succeeds and keeps the first `revoked_at`.
 */
function revoke(context: CliContext): Command {
  return createCommand({
    usage: 'revoke <key-id>',
    description: 'revoke an API key at once; tasks that it submitted continue',
    examples: ['key revoke key_8xKQm2vT0aYc4hLd'],
  }).action(async (keyId: string) => {
    const key = await (await context.parts.accounts()).revokeKey(keyId)
    if (key === undefined) throw new CommandError(`There is no API key ${JSON.stringify(keyId)}.`)
    context.show({ json: keyJson(key), text: keyTable([key]) })
  })
}

function keyJson({ keyId, prefix, createdAtMs, expiresAtMs, revokedAtMs }: ApiKey) {
  return {
    key_id: keyId,
    prefix,
    created_at: isoTime(createdAtMs),
    expires_at: isoTimeOrNull(expiresAtMs),
    revoked_at: isoTimeOrNull(revokedAtMs),
  }
}

function keyTable(keys: readonly ApiKey[]): string {
  return table(
    ['KEY ID', 'PREFIX', 'CREATED', 'EXPIRES', 'REVOKED'],
    keys.map(({ keyId, prefix, createdAtMs, expiresAtMs, revokedAtMs }) => [
      keyId,
      `${prefix}…`,
      shortTime(createdAtMs),
      shortTime(expiresAtMs),
      shortTime(revokedAtMs),
    ]),
    'No API keys yet. Create one: darkroom key create ACCOUNT',
  )
}
