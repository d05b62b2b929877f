import type { Command } from 'commander'
import type { Violation } from '../domain/violation.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { table } from './table.ts'

/** `ledger verify`: JSON `ok, violations` (`kind, account_id`, and `task_id` of a task). */
export function ledgerVerify(context: CliContext): Command {
  return leaf({
    usage: 'verify',
    description:
      'hold deposits, ledger, balances and tasks against each other (exit 1 on a violation)',
    examples: ['ledger verify', 'ledger verify --json'],
  }).action(async () => {
    const violations = await context.parts.verifyLedger()
    const ok = violations.length === 0
    context.show({
      json: { ok, violations: violations.map(violationJson) },
      text: ok ? 'The ledger is in order.' : violationTable(violations),
      exitCode: ok ? 0 : 1,
    })
  })
}

function violationJson(violation: Violation) {
  const task = 'taskId' in violation ? { task_id: violation.taskId } : {}
  return { kind: violation.kind, account_id: violation.accountId, ...task }
}

function violationTable(violations: readonly Violation[]): string {
  return table(
    ['VIOLATION', 'ACCOUNT', 'TASK'],
    violations.map((one) => [one.kind, one.accountId, 'taskId' in one ? one.taskId : undefined]),
    '',
  )
}
