import type { Command } from 'commander'
import type { CliContext } from './context.ts'
import { keyJson, keyTable } from './keyView.ts'
import { leaf } from './leaf.ts'
import { noSuchAccount } from './refusal.ts'

/** `key list ACCOUNT`: JSON is an array of keys, oldest first. */
export function keyList(context: CliContext): Command {
  return leaf({
    usage: 'list <account>',
    description: "list an account's keys, without their secrets",
    examples: ['key list acme'],
  }).action(async (name: string) => {
    const accounts = await context.parts.accounts()
    const account = await accounts.findAccount(name)
    if (account === undefined) throw noSuchAccount(name)
    const keys = await accounts.listKeys(account.accountId)
    context.show({ json: keys.map(keyJson), text: keyTable(keys) })
  })
}
