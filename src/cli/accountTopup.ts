import type { Command } from 'commander'
import { accountAnswer } from './accountView.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { parseCredits } from './parse.ts'
import { noSuchAccount, Refusal } from './refusal.ts'

/** `account topup NAME N`: JSON as `account show`, after the deposit. */
export function accountTopup(context: CliContext): Command {
  return leaf({
    usage: 'topup <name>',
    description: 'deposit credits into an account',
    examples: ['account topup acme 5000'],
  })
    .argument('<credits>', 'whole number', parseCredits)
    .action(async (name: string, credits: number) => {
      const accounts = await context.parts.accounts()
      const account = await accounts.topUp(name, credits)
      if (account === undefined) throw noSuchAccount(name)
      if (account === 'beyond_limit') {
        throw new Refusal('The account would hold more credits than can be counted exactly.')
      }
      context.show(accountAnswer(account))
    })
}
