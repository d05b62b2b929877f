import type { Command } from 'commander'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { fields } from './table.ts'

/** `migrate`: JSON `applied`, and `temporal` (null without TEMPORAL_ADDRESS). */
export function migrate(context: CliContext): Command {
  return leaf({
    usage: 'migrate',
    description:
      "bring the database's schema, and Temporal's namespace and search attributes, up to date",
    examples: ['migrate', 'migrate --json'],
  }).action(async () => {
    const { applied, temporal } = await context.parts.migrate()
    context.show({
      json: {
        applied,
        temporal:
          temporal === undefined
            ? null
            : {
                namespace: temporal.namespace,
                state: temporal.state,
                search_attributes: temporal.searchAttributes,
              },
      },
      text: fields({
        database: applied.length === 0 ? 'up to date' : `applied ${applied.join(', ')}`,
        temporal:
          temporal === undefined
            ? 'left alone: TEMPORAL_ADDRESS is not set'
            : `namespace ${temporal.namespace} ${temporal.state}, ` +
              `search attributes ${temporal.searchAttributes.join(', ') || 'present'}`,
      }),
    })
  })
}
