import { Command, CommanderError } from 'commander'
import { accountCommands } from './accountCommands.ts'
import type { Answer } from './answer.ts'
import { auditCommands } from './auditCommands.ts'
import { channelCommands } from './channelCommands.ts'
import type { CliContext } from './cliContext.ts'
import { keyCommands } from './keyCommands.ts'
import { ledgerCommands } from './ledgerCommands.ts'
import { migrateCommand } from './migrateCommand.ts'
import { printable } from './printable.ts'
import { withProgress } from './progress.ts'
import { taskCommands } from './taskCommands.ts'
import { webhookCommands } from './webhookCommands.ts'
import { defined } from '../domain/defined.ts'
import manifest from '../../package.json' with { type: 'json' }

export type CliStreams = {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Whether `err` writes to a terminal, so that progress can change its line. */
  readonly isTerminal: boolean
}

/**
 * Runs one command and returns its exit code: 0 for done, 1 for refused or a problem found, 2 for wrong
 * usage. Writes answers, help and the version to `out`, and errors to `err`. With `--json`, answers and
 * errors are JSON. When a command throws an error, writes its message and returns 1. Only Commander's own
 * errors, which mean wrong usage, give 2. On a terminal, first says which installation the command uses.
 * Elsewhere, says it only with an error.
 */
export async function runCli(
  args: readonly string[],
  parts: Pick<CliContext, 'service'> & { readonly installation: () => string },
  streams: CliStreams,
): Promise<number> {
  const json = args.includes('--json')
  let exitCode = 0
  let installation: string | undefined
  const sayInstallation = () => streams.err(`${printable(`Installation: ${installation}.`)}\n`)
  const service = () => {
    if (installation === undefined) {
      installation = parts.installation()
      if (streams.isTerminal && !json) sayInstallation()
    }
    return parts.service()
  }
  const program = createProgram({
    service,
    operator: () => service().operator(),
    show: (answer: Answer) => {
      const text = json ? JSON.stringify(answer.json, undefined, 2) : answer.text
      streams.out(`${printable(text)}\n`)
      if (answer.note !== undefined) streams.err(`${printable(answer.note)}\n`)
      exitCode = answer.exitCode ?? 0
    },
    withProgress: (text, work) => (json ? work() : withProgress(streams, text, work)),
  })
  // Commander does not pass these settings on to subcommands that were added with `addCommand`.
  forEachCommand(program, (command) =>
    command
      .exitOverride()
      .showHelpAfterError('(add --help for usage)')
      .configureOutput({ writeOut: streams.out, writeErr: json ? () => {} : streams.err }),
  )
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCode
  } catch (error) {
    const isCommanderError = error instanceof CommanderError
    // Commander also throws after `--help` and `--version`, with exit code 0.
    if (isCommanderError && error.exitCode === 0) return 0
    const message = error instanceof Error ? error.message : 'failed'
    // Commander starts its messages with `error: `. In JSON the key already says so.
    const reported = {
      error: { message: message.replace(/^error: /, ''), ...defined({ installation }) },
    }
    if (json) streams.err(`${printable(JSON.stringify(reported))}\n`)
    // Without --json, Commander has already written its own errors to `err`.
    else if (!isCommanderError) {
      streams.err(`${printable(message)}\n`)
      if (installation !== undefined && !streams.isTerminal) sayInstallation()
    }
    return isCommanderError ? 2 : 1
  }
}

const about = `
A command uses the installation of the \`npm start\` that runs on DATA_DIR, or that of the environment
(DATABASE_URL, KEY_PEPPER, TEMPORAL_ADDRESS, …) where one of these differs. It never mixes the two.
Exit codes: 0 done, 1 refused or a problem found, 2 wrong usage.`

const makers = [
  migrateCommand,
  accountCommands,
  keyCommands,
  ledgerCommands,
  taskCommands,
  channelCommands,
  webhookCommands,
  auditCommands,
]

/** Creates the whole command line. Runs no command. */
export function createProgram(context: CliContext): Command {
  const program = new Command('darkroom')
    .description(
      'Operate a Darkroom: accounts, API keys, the ledger, tasks, channels, webhooks and the audit.',
    )
    .version(manifest.version, '--version', 'show the version')
    .addHelpText('after', about)
  for (const make of makers) program.addCommand(make(context))
  return program
}

function forEachCommand(command: Command, configure: (command: Command) => void): void {
  configure(command)
  for (const child of command.commands) forEachCommand(child, configure)
}
