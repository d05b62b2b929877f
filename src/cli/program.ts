import { Command } from 'commander'
import { readFileSync } from 'node:fs'
import { accountCommands } from './account.ts'
import { channelCommands } from './channel.ts'
import type { CliContext } from './context.ts'
import { keyCommands } from './key.ts'
import { ledgerCommands } from './ledger.ts'
import { migrateCommand } from './migrate.ts'
import { taskCommands } from './task.ts'
import { webhookCommands } from './webhook.ts'

const about = `
Settings come from the environment (DATABASE_URL, TEMPORAL_ADDRESS, …) and, where it does not set
them, from DATA_DIR/runtime.json, which a running \`npm start\` writes.
Exit codes: 0 done, 1 refused or a problem found, 2 wrong usage.`

/** Creates the whole command line. Runs no command. */
export function createProgram(context: CliContext): Command {
  return new Command('darkroom')
    .description(
      'Operate a Darkroom: accounts, API keys, the ledger, tasks, channels and webhooks.',
    )
    .version(version(), '--version', 'show the version')
    .addHelpText('after', about)
    .addCommand(migrateCommand(context))
    .addCommand(accountCommands(context))
    .addCommand(keyCommands(context))
    .addCommand(ledgerCommands(context))
    .addCommand(taskCommands(context))
    .addCommand(channelCommands(context))
    .addCommand(webhookCommands(context))
}

function version(): string {
  const path = new URL('../../package.json', import.meta.url)
  const manifest: { readonly version: string } = JSON.parse(readFileSync(path, 'utf8'))
  return manifest.version
}
