import type { Command } from 'commander'
import { accountJson } from './accountView.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { iso } from './moment.ts'
import { table } from './table.ts'

/** `account list`: JSON is an array, by name; `models` and `created_at` besides. */
export function accountList(context: CliContext): Command {
  return leaf({
    usage: 'list',
    description: 'list all accounts',
    examples: ['account list', "account list --json | jq '.[] | select(.available < 1000)'"],
  }).action(async () => {
    const accounts = await (await context.parts.accounts()).listAccounts()
    context.show({
      json: accounts.map((account) => ({
        ...accountJson(account),
        models: account.models ?? null,
        created_at: iso(account.createdAtMs),
      })),
      text: table(
        ['NAME', 'AVAILABLE', 'HELD', 'SPENT', 'MODELS', 'ID'],
        accounts.map(({ name, available, held, spent, models, accountId }) => [
          name,
          available,
          held,
          spent,
          models?.join(',') ?? 'all',
          accountId,
        ]),
        'No accounts yet. Open one: darkroom account create NAME --credits N',
      ),
    })
  })
}
