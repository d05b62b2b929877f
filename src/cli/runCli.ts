import type { Command } from 'commander'
import { CommanderError } from 'commander'
import type { Answer } from './answer.ts'
import type { Parts } from './context.ts'
import { createProgram } from './program.ts'
import { withProgress } from './progress.ts'

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
 * errors, which mean wrong usage, give 2.
 */
export async function runCli(
  args: readonly string[],
  parts: Parts,
  streams: CliStreams,
): Promise<number> {
  const json = args.includes('--json')
  let exitCode = 0
  const show = (answer: Answer) => {
    streams.out(`${json ? JSON.stringify(answer.json, undefined, 2) : answer.text}\n`)
    exitCode = answer.exitCode ?? 0
  }
  const stream = { write: streams.err, isTerminal: streams.isTerminal }
  const program = createProgram({
    parts,
    show,
    withProgress: (text, work) => (json ? work() : withProgress(stream, text, work)),
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
    if (json) streams.err(`${JSON.stringify({ error: { message: withoutPrefix(message) } })}\n`)
    // Without --json, Commander has already written its own errors to `err`.
    else if (!isCommanderError) streams.err(`${message}\n`)
    return isCommanderError ? 2 : 1
  }
}

/** Removes `error: `. Commander starts its messages with it, and in JSON the key already says `error`. */
function withoutPrefix(message: string): string {
  return message.replace(/^error: /, '')
}

function forEachCommand(command: Command, configure: (command: Command) => void): void {
  configure(command)
  for (const child of command.commands) forEachCommand(child, configure)
}
