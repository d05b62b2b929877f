import type { Command } from 'commander'
import type { Answer } from './answer.ts'
import { fields, table, valueOf } from './answer.ts'
import { createCommand, createGroup } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import { defined } from '../domain/defined.ts'
import type { RequestsLimit } from '../domain/accounts/accountLimits.ts'
import { requestsLimitText } from '../domain/accounts/accountLimits.ts'
import type { ModelId } from '../domain/models/models.ts'
import * as accounts from '../operations/accounts.ts'
import type { AccountJson } from '../store/accounts/accountRows.ts'
import {
  parseAccountName,
  parseAlert,
  parseInitialCredits,
  parseLiveTasks,
  parseModels,
  parseModelsOrAll,
  parseRequests,
  parseTopup,
  parseTopupId,
} from './parse.ts'

/** Makes the commands `account create`, `topup`, `models`, `limit`, `alert`, `show` and `list`. */
export function accountCommands(context: CliContext): Command {
  const makers = [create, topup, models, limit, alert, show, list]
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
    .action(async (name: string, options: CreateOptions) => {
      const created = await accounts.createAccount(await context.operator(), { name, ...options })
      context.show(accountAnswer(valueOf(created)))
    })
}

function topup(context: CliContext): Command {
  return createCommand(
    'topup <name>',
    'deposit credits into an account, or take back what is available',
    'account topup acme 5000',
    'account topup acme 5000 --id invoice-2026-117',
    'account topup acme -5000',
  )
    .argument('<credits>', 'whole number; below 0 takes credits back', parseTopup)
    .option(
      '--id <text>',
      'your name for this topup of the account: given again, it moves nothing',
      parseTopupId,
    )
    .action(async (name: string, credits: number, { id }: { readonly id?: string }) => {
      const topup = { name, credits, ...defined({ topupId: id }) }
      const topped = await accounts.topUpAccount(await context.operator(), topup)
      context.show(accountAnswer(valueOf(topped).account))
    })
}

function models(context: CliContext): Command {
  return createCommand(
    'models <name>',
    'set the models that an account may use; tasks that are accepted already are made',
    'account models acme familya-3-pro-image,familyb-image-2-vip',
    'account models acme all',
  )
    .argument('<models>', 'models separated by commas, or all', parseModelsOrAll)
    .action(async (name: string, chosen: readonly ModelId[] | undefined) => {
      const wanted = { name, ...defined({ models: chosen }) }
      const account = valueOf(await accounts.setAccountModels(await context.operator(), wanted))
      context.show(accountAnswer(account))
    })
}

/** Commander takes null for a missing value. */
type LimitOptions = {
  readonly requests?: RequestsLimit | 'none'
  readonly liveTasks?: number | 'none'
}

function limit(context: CliContext): Command {
  return createCommand(
    'limit <name>',
    'set or remove the limits of an account; a limit that is not named stays',
    'account limit acme --requests 60/minute --live-tasks 50',
    'account limit acme --requests none',
  )
    .option('--requests <n/period>', 'tasks per second, minute or hour, or none', parseRequests)
    .option('--live-tasks <n>', 'tasks that have not ended, or none', parseLiveTasks)
    .action(async (name: string, options: LimitOptions, command: Command) => {
      const limits = {
        requests: options.requests === 'none' ? null : options.requests,
        liveTasks: options.liveTasks === 'none' ? null : options.liveTasks,
      }
      if (limits.requests === undefined && limits.liveTasks === undefined) {
        command.error('error: give --requests, --live-tasks or both')
      }
      const set = await accounts.setAccountLimits(await context.operator(), { name, limits })
      const account = valueOf(set)
      context.show(accountAnswer(account))
    })
}

function alert(context: CliContext): Command {
  return createCommand(
    'alert <name>',
    'tell the webhooks of an account once when few credits are left; each topup arms this again',
    'account alert acme --below 500',
    'account alert acme --below none',
  )
    .requiredOption('--below <n>', 'credits that are available, or none', parseAlert)
    .action(async (name: string, { below }: { readonly below: number | 'none' }) => {
      const wanted = { name, below: below === 'none' ? null : below }
      const account = valueOf(await accounts.setAccountAlert(await context.operator(), wanted))
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
    context.show(accountAnswer(valueOf(await accounts.showAccount(await context.operator(), name))))
  })
}

function list(context: CliContext): Command {
  return createCommand(
    'list',
    'list all accounts, by name',
    'account list',
    "account list --json | jq '.[] | select(.available < 1000)'",
  ).action(async () => {
    const listed = valueOf(await accounts.listAccounts(await context.operator()))
    const data = listed.data.toSorted((one, other) => (one.name < other.name ? -1 : 1))
    context.show({
      json: data,
      text: table(
        ['NAME', 'AVAILABLE', 'HELD', 'SPENT', 'MODELS', 'ID'],
        data.map(({ name, available, held, spent, models: allowed, account_id }) => {
          return [name, available, held, spent, allowed?.join(',') ?? 'all', account_id]
        }),
        'No accounts yet. Create one: darkroom account create NAME --credits N',
      ),
    })
  })
}

/** Returns the answer about one account. */
function accountAnswer(account: AccountJson): Answer {
  const { account_id, name, available, held, spent, limits, alert_below } = account
  const { requests, live_tasks: tasks } = limits
  const allowed = account.models?.join(', ') ?? 'all'
  return {
    json: account,
    text: fields({
      account: name,
      id: account_id,
      models: allowed,
      available,
      held,
      spent,
      requests: requests ? `${requestsLimitText(requests)}, ${requests.remaining} now` : 'no limit',
      'alert below': alert_below ?? 'no alert',
      'live tasks': tasks ? `${tasks.used} of ${tasks.limit}` : 'no limit',
    }),
  }
}
