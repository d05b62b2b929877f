import type { Command } from 'commander'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { shortTime } from './moment.ts'
import { parseDays } from './parse.ts'
import { noSuchAccount } from './refusal.ts'
import { fields } from './table.ts'

/** `key create ACCOUNT`: JSON `key_id, secret`; the only time the secret is shown. */
export function keyCreate(context: CliContext): Command {
  return leaf({
    usage: 'create <account>',
    description: 'make an API key; its secret is shown this once',
    examples: ['key create acme', 'key create acme --expires-days 0.5 --json'],
  })
    .option('--expires-days <n>', 'life of the key (default: until revoked)', parseDays)
    .action(async (account: string, options: { readonly expiresDays?: number }) => {
      // Named by its option; `parseDays` made milliseconds of it.
      const { expiresDays: expiresInMs } = options
      const issueKey = await context.parts.issueKey()
      const issued = await issueKey(account, expiresInMs)
      if (issued === undefined) throw noSuchAccount(account)
      const { key, secret } = issued
      context.show({
        json: { key_id: key.keyId, secret },
        text: fields({
          'key id': key.keyId,
          secret: `${secret}  (kept nowhere: note it now)`,
          expires: shortTime(key.expiresAtMs) ?? 'never',
        }),
      })
    })
}
