import type { Command } from 'commander'
import { shortTime, table, valueOf } from './answer.ts'
import { createCommand, createGroup } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import { listAudit } from '../operations/audit.ts'
import type { AuditFilter } from '../store/auditRows.ts'
import { moreNote, withPageOptions } from './pageOptions.ts'
import { parseAuditId, parseSince } from './parse.ts'

/** Makes the command `audit list`. */
export function auditCommands(context: CliContext): Command {
  return createGroup(context, 'audit', 'the record of what operators changed', [list])
}

function list(context: CliContext): Command {
  const command = createCommand(
    'list',
    'list changes by operators and refused ones, newest first',
    'audit list --target acme --since 30d',
    'audit list --actor cli:alice@ops1 --json',
  )
    .option('--target <name>', 'only changes of the account, key, task, … with this name or id')
    .option('--actor <actor>', 'only changes by cli:USER@HOST or admin:KEY_ID')
    .option('--action <action>', 'only changes of this kind, such as account.topup')
    .option(
      '--since <when>',
      'only changes of the last 30m, 2h, 1d, or since an ISO 8601 time',
      parseSince,
    )
  return withPageOptions(command, 'changes', parseAuditId).action(async (filter: AuditFilter) => {
    const { data, has_more } = valueOf(await listAudit(await context.operator(), filter))
    context.show({
      json: data,
      text: table(
        ['AT', 'ACTOR', 'ACTION', 'TARGET', 'OUTCOME', 'PARAMS'],
        data.map(({ at, actor, action, target, outcome, params }) => {
          return [shortTime(at), actor, action, target, outcome, paramsText(params)]
        }),
        'No changes found.',
      ),
      ...moreNote(has_more, data.at(-1)?.audit_id, 'changes'),
    })
  })
}

function paramsText(params: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(params).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return texts.join(' ') || '-'
}
