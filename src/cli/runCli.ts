import type { Command } from 'commander'
import { CommanderError } from 'commander'
import type { Answer, Parts } from './context.ts'
import { createProgram } from './program.ts'

export type CliStreams = {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/**
 * Runs one command and answers its exit code: 0 done, 1 refused or found wrong, 2 wrong usage. Answers go
 * to `out`, everything else to `err`; with `--json` both are JSON.
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
  const program = createProgram({ parts, show })
  // Settings reach only commands added after them: each is told by itself.
  everyCommand(program, (command) =>
    command
      .exitOverride()
      .showHelpAfterError('(add --help for usage)')
      .configureOutput({ writeOut: streams.out, writeErr: json ? () => {} : streams.err }),
  )
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCode
  } catch (error) {
    const isUsage = error instanceof CommanderError
    if (isUsage && error.exitCode === 0) return 0
    const message = error instanceof Error ? error.message : 'failed'
    if (json) streams.err(`${JSON.stringify({ error: { message: unmarked(message) } })}\n`)
    // Commander has told people of their usage itself.
    else if (!isUsage) streams.err(`${message}\n`)
    return isUsage ? 2 : 1
  }
}

/** Commander marks its sentences for a terminal. */
function unmarked(message: string): string {
  return message.replace(/^error: /, '')
}

function everyCommand(command: Command, tell: (command: Command) => void): void {
  tell(command)
  for (const child of command.commands) everyCommand(child, tell)
}
