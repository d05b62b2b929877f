import type { Command } from 'commander'
import { randomBytes } from 'node:crypto'
import type { Answer } from './answer.ts'
import { accountNamed, CommandError, existing, fields, isoTime, table } from './answer.ts'
import { createCommand, createGroup } from './command.ts'
import type { CliContext } from './context.ts'
import type { Account } from '../domain/accounts/account.ts'
import { accountCreditsMax, newAccountId } from '../domain/accounts/account.ts'
import { defined } from '../domain/defined.ts'
import type { ModelId } from '../domain/models/models.ts'
import { parseAccountName, parseDeposit, parseInitialCredits, parseModels } from './parse.ts'

/** Makes the commands `account create`, `topup`, `show` and `list`. */
export function accountCommands(context: CliContext): Command {
  const makers = [create, topup, show, list]
  return createGroup(context, 'account', 'accounts and their credits', makers)
}

type CreateOptions = { readonly credits: number; readonly models?: readonly ModelId[] }

function create(context: CliContext): Command {
  return createCommand(
    'create',
    'create an account',
    'account create acme --credits 10000',
    'account create studio --models familya-3-pro-image,familyb-image-2-vip',
  )
    .argument('<name>', 'name of the account', parseAccountName)
    .option('--credits <n>', 'initial deposit', parseInitialCredits, 0)
    .option('--models <a,b>', 'models that the account may use (default: all)', parseModels)
    .action(async (name: string, { credits, models }: CreateOptions) => {
      const { accounts } = await context.database()
      const account = {
        accountId: newAccountId(randomBytes),
        name,
        credits,
        ...defined({ models }),
      }
      if (!(await accounts.createAccount(account)))
        throw new CommandError(`An account named ${JSON.stringify(name)} already exists.`)
      context.show(accountAnswer({ ...account, available: credits, held: 0, spent: 0 }))
    })
}

function topup(context: CliContext): Command {
  return createCommand('topup <name>', 'deposit credits into an account', 'account topup acme 5000')
    .argument('<credits>', 'whole number, at least 1', parseDeposit)
    .action(async (name: string, credits: number) => {
      const { accounts } = await context.database()
      const account = existing(await accounts.topUp(name, credits), accountNamed(name))
      if (account === 'beyond_limit') {
        throw new CommandError(
          `The deposit is too large: the credits of an account, including spent credits, are limited to ${accountCreditsMax}.`,
        )
      }
      context.show(accountAnswer(account))
    })
}

function show(context: CliContext): Command {
  return createCommand(
    'show <name>',
    'show an account and its credits',
    'account show acme',
    'account show acme --json',
  ).action(async (name: string) => {
    const { accounts } = await context.database()
    context.show(accountAnswer(existing(await accounts.findAccount(name), accountNamed(name))))
  })
}

function list(context: CliContext): Command {
  return createCommand(
    'list',
    'list all accounts, by name',
    'account list',
    "account list --json | jq '.[] | select(.available < 1000)'",
  ).action(async () => {
    const accounts = await (await context.database()).accounts.listAccounts()
    context.show({
      json: accounts.map((account) => ({
        ...accountJson(account),
        models: account.models ?? null,
        created_at: isoTime(account.createdAtMs),
      })),
      text: table(
        ['NAME', 'AVAILABLE', 'HELD', 'SPENT', 'MODELS', 'ID'],
        accounts.map(({ name, available, held, spent, models, accountId }) => {
          return [name, available, held, spent, models?.join(',') ?? 'all', accountId]
        }),
        'No accounts yet. Create one: darkroom account create NAME --credits N',
      ),
    })
  })
}

type ShownAccount = Omit<Account, 'createdAtMs'>

function accountAnswer(account: ShownAccount): Answer {
  const { accountId: id, name, available, held, spent } = account
  const models = account.models?.join(', ') ?? 'all'
  return {
    json: accountJson(account),
    text: fields({ account: name, id, models, available, held, spent }),
  }
}

function accountJson({ accountId, name, available, held, spent }: ShownAccount) {
  return { account_id: accountId, name, available, held, spent }
}
