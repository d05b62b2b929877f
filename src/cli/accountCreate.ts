import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { newAccountId } from '../domain/account.ts'
import type { ModelId } from '../domain/models.ts'
import { accountAnswer } from './accountView.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { parseAccountName, parseCredits, parseModels } from './parse.ts'
import { Refusal } from './refusal.ts'

type Options = { readonly credits: number; readonly models?: readonly ModelId[] }

/** `account create NAME`: JSON as `account show`. Refused when the name is taken. */
export function accountCreate(context: CliContext): Command {
  const command = leaf({
    usage: 'create',
    description: 'open an account',
    examples: [
      'account create acme --credits 10000',
      'account create studio --models familya-3-pro-image,familyb-image-2-vip',
    ],
  })
  return command
    .argument('<name>', 'name of the account', parseAccountName)
    .option('--credits <n>', 'first deposit', parseCredits, 0)
    .option('--models <a,b>', 'the only models it may use (default: all)', parseModels)
    .action(async (name: string, { credits, models }: Options) => {
      const accounts = await context.parts.accounts()
      const only = models === undefined ? {} : { models }
      const account = { accountId: newAccountId(randomBytes), name, credits, ...only }
      const created = await accounts.createAccount(account)
      if (!created) throw new Refusal(`There is an account named ${JSON.stringify(name)} already.`)
      context.show(accountAnswer({ ...account, available: credits, held: 0, spent: 0 }))
    })
}
