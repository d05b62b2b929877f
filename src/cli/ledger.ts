import type { Command } from 'commander'
import { table } from './answer.ts'
import { createCommand, createGroup } from './command.ts'
import type { CliContext } from './context.ts'
import type { Violation } from '../domain/accounts/violation.ts'
import { defined } from '../domain/defined.ts'

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
    const { verifyLedger } = await context.database()
    const violations = await context.withProgress(
      (seconds) => `Reading the ledger, ${seconds} s`,
      verifyLedger,
    )
    const ok = violations.length === 0
    context.show({
      json: { ok, violations: violations.map(violationJson) },
      text: table(
        ['VIOLATION', 'ACCOUNT', 'TASK'],
        violations.map((violation) => [violation.kind, violation.accountId, taskIdOf(violation)]),
        'No violations found.',
      ),
      exitCode: ok ? 0 : 1,
    })
  })
}

function violationJson(violation: Violation) {
  const { kind, accountId } = violation
  return { kind, account_id: accountId, ...defined({ task_id: taskIdOf(violation) }) }
}

/** Returns the task of a violation, or `undefined` when the violation is about a whole account. */
function taskIdOf(violation: Violation): string | undefined {
  return 'taskId' in violation ? violation.taskId : undefined
}
