import type { Command } from 'commander'
import { Option } from 'commander'
import { modelIds } from '../domain/models.ts'
import type { ListedTask, TaskFilter } from '../domain/ports/taskAdmin.ts'
import type { TaskRecord } from '../domain/taskRecord.ts'
import { taskRecord } from '../domain/taskRecord.ts'
import { taskStatuses } from '../domain/task.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { shortTime } from './moment.ts'
import { parseLimit, parseSince } from './parse.ts'
import { noSuchAccount } from './refusal.ts'
import { table } from './table.ts'

/** `task list`: JSON is an array of the record's fields (but `result`) and `account`, newest first. */
export function taskList(context: CliContext): Command {
  return leaf({
    usage: 'list',
    description: 'list tasks, newest first',
    examples: [
      'task list --status failed --since 1h',
      'task list --account acme --limit 200 --json',
    ],
  })
    .option('--account <name>', 'of this account')
    .addOption(
      new Option('--status <status>', 'with this status').choices([...taskStatuses, 'expired']),
    )
    .addOption(new Option('--model <model>', 'of this model').choices(modelIds))
    .option('--since <when>', 'accepted since: 30m, 2h, 1d, or an ISO 8601 time', parseSince)
    .option('--limit <n>', 'at most so many', parseLimit, 50)
    .action(async (filter: TaskFilter) => {
      const [tasks, capabilities, assetUrl] = await Promise.all([
        context.parts.tasks(),
        context.parts.capabilities(),
        context.parts.assetUrl(),
      ])
      const listed = await tasks.listTasks(filter)
      if (listed.length === 0) await refuseUnknownAccount(context, filter.account)
      const rows = listed.map(({ task, accountName }: ListedTask) => {
        const { usualDurationMs } = capabilities[task.model]
        const url = assetUrl(task)
        const published = url === undefined ? undefined : { url }
        return { ...taskRecord(task, usualDurationMs, published), account: accountName }
      })
      context.show({ json: rows, text: taskTable(rows) })
    })
}

/** A name mistyped is told from an account without tasks. */
async function refuseUnknownAccount(context: CliContext, name: string | undefined): Promise<void> {
  if (name === undefined) return
  const account = await (await context.parts.accounts()).findAccount(name)
  if (account === undefined) throw noSuchAccount(name)
}

function taskTable(rows: readonly (TaskRecord & { readonly account: string })[]): string {
  return table(
    ['TASK', 'ACCOUNT', 'MODEL', 'STATUS', 'PROGRESS', 'CREATED', 'COMPLETED', 'ERROR'],
    rows.map((row) => [
      row.task_id,
      row.account,
      row.model,
      row.status,
      row.progress,
      shortTime(Date.parse(row.created_at)),
      shortTime(row.completed_at === undefined ? undefined : Date.parse(row.completed_at)),
      row.error?.code,
    ]),
    'No such tasks.',
  )
}
