import type { Command } from 'commander'
import { fields } from './answer.ts'
import { createCommand } from './createCommand.ts'
import type { CliContext, MigratedTemporal } from './cliContext.ts'

/** `migrate`: updates the schema of PostgreSQL and the namespace of Temporal. A second run changes nothing. */
export function migrateCommand(context: CliContext): Command {
  return createCommand(
    'migrate',
    "update the database schema, and Temporal's namespace and search attributes",
    'migrate',
    'migrate --json',
  ).action(async () => {
    const { migrate } = context.service()
    const { applied, temporal } = await context.withProgress(
      (seconds) => `Migrating, or waiting for a lock on a table, ${seconds} s`,
      migrate,
    )
    context.show({
      json: { applied, temporal: temporal ?? null },
      text: fields({
        database: applied.length === 0 ? 'up to date' : `applied ${applied.join(', ')}`,
        temporal:
          temporal === undefined ? 'skipped: TEMPORAL_ADDRESS is not set' : sentenceOf(temporal),
      }),
    })
  })
}

const namespaceStates: Readonly<Record<MigratedTemporal['state'], string>> = {
  made: 'created',
  lengthened: 'retention extended',
  present: 'up to date',
}

function sentenceOf({ namespace, state, search_attributes: names }: MigratedTemporal): string {
  const added = names.length === 0 ? 'up to date' : `added ${names.join(', ')}`
  return `namespace ${namespace}: ${namespaceStates[state]}; search attributes: ${added}`
}
