import type { Command } from 'commander'
import { fields } from './answer.ts'
import { createCommand } from './command.ts'
import type { CliContext, MigrateReport } from './context.ts'

/** `migrate`: updates the schema of PostgreSQL and the namespace of Temporal. A second run changes nothing. */
export function migrateCommand(context: CliContext): Command {
  return createCommand({
    usage: 'migrate',
    description: "update the database schema, and Temporal's namespace and search attributes",
    examples: ['migrate', 'migrate --json'],
  }).action(async () => {
    const { applied, temporal } = await context.withProgress(
      (seconds) => `Migrating, or waiting for a lock on a table, ${seconds} s`,
      () => context.parts.migrate(),
    )
    context.show({
      json: { applied, temporal: temporal === undefined ? null : temporalJson(temporal) },
      text: fields({
        database: applied.length === 0 ? 'up to date' : `applied ${applied.join(', ')}`,
        temporal:
          temporal === undefined
            ? 'skipped: TEMPORAL_ADDRESS is not set'
            : temporalSentence(temporal),
      }),
    })
  })
}

type TemporalReport = NonNullable<MigrateReport['temporal']>

const namespaceStates: Readonly<Record<TemporalReport['state'], string>> = {
  made: 'created',
  lengthened: 'retention extended',
  present: 'up to date',
}

function temporalJson({ namespace, state, searchAttributes }: TemporalReport) {
  return { namespace, state, search_attributes: searchAttributes }
}

function temporalSentence({ namespace, state, searchAttributes }: TemporalReport): string {
  const added =
    searchAttributes.length === 0 ? 'up to date' : `added ${searchAttributes.join(', ')}`
  return `namespace ${namespace}: ${namespaceStates[state]}; search attributes: ${added}`
}
