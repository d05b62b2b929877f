import type { Command } from 'commander'
import { table } from './answer.ts'
import { createCommand, createGroup } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import { verifyLedger } from '../operations/ledger.ts'

/** Makes the command `ledger verify`. */
export function ledgerCommands(context: CliContext): Command {
  return createGroup(context, 'ledger', 'the credit ledger', [verify])
}

function verify(context: CliContext): Command {
  return createCommand(
    'verify',
    'check that deposits, ledger, balances and tasks agree (exit code 1 if not)',
    'ledger verify',
    'ledger verify --json',
  ).action(async () => {
    const operator = await context.operator()
    const checked = await context.withProgress(
      (seconds) => `Reading the ledger, ${seconds} s`,
      () => verifyLedger(operator),
    )
    context.show({
      json: checked,
      text: table(
        ['VIOLATION', 'ACCOUNT', 'TASK'],
        checked.violations.map(({ kind, account_id, task_id }) => [kind, account_id, task_id]),
        'No violations found.',
      ),
      exitCode: checked.ok ? 0 : 1,
    })
  })
}
