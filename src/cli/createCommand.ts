import { Command } from 'commander'
import type { CliContext } from './cliContext.ts'

/**
 * Creates a command that accepts `--json`, and that shows its examples below its `--help`. `usage` is its name and
 * the arguments that need no parser, such as `show <name>`. `examples` come without the leading `darkroom`.
 */
export function createCommand(
  usage: string,
  description: string,
  ...examples: readonly string[]
): Command {
  const [name, ...args] = usage.split(' ')
  const command = new Command(name).description(description)
  for (const argument of args) command.argument(argument)
  const lines = examples.map((line) => `  darkroom ${line}`)
  return command
    .option('--json', 'answer in JSON')
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

/** Creates a command that does nothing itself. Its subcommands are what `makers` return. */
export function createGroup(
  context: CliContext,
  name: string,
  description: string,
  makers: readonly ((context: CliContext) => Command)[],
): Command {
  const group = new Command(name).description(description)
  for (const make of makers) group.addCommand(make(context))
  return group
}
