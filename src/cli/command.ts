import { Command } from 'commander'

/** Creates a command that accepts `--json`, and that shows its examples below its `--help`. */
export function createCommand(given: {
  /** The name and the arguments that need no parser, such as `show <name>`. */
  readonly usage: string
  readonly description: string
  /** Example command lines, without the leading `darkroom`. */
  readonly examples: readonly string[]
}): Command {
  const [name, ...args] = given.usage.split(' ')
  const command = new Command(name).description(given.description)
  for (const argument of args) command.argument(argument)
  return command
    .option('--json', 'answer in JSON')
    .addHelpText(
      'after',
      `\nExamples:\n${given.examples.map((line) => `  darkroom ${line}`).join('\n')}`,
    )
}

/** Creates the command `name`. It does nothing itself, and `commands` are its subcommands. */
export function createCommandGroup(
  name: string,
  description: string,
  commands: readonly Command[],
): Command {
  const group = new Command(name).description(description)
  for (const command of commands) group.addCommand(command)
  return group
}
