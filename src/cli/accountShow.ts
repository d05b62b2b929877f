import type { Command } from 'commander'
import { accountAnswer } from './accountView.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { noSuchAccount } from './refusal.ts'

/** `account show NAME`: JSON `account_id, name, available, held, spent`. */
export function accountShow(context: CliContext): Command {
  return leaf({
    usage: 'show <name>',
    description: 'show an account and its credits',
    examples: ['account show acme', 'account show acme --json'],
  }).action(async (name: string) => {
    const accounts = await context.parts.accounts()
    const account = await accounts.findAccount(name)
    if (account === undefined) throw noSuchAccount(name)
    context.show(accountAnswer(account))
  })
}
