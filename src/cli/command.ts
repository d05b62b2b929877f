import { Command } from 'commander'

/** Makes a command that takes `--json` and shows its examples below its `--help`. */
export function createCommand(given: {
  /** The name, and any arguments that need no parser: `show <name>`. */
  readonly usage: string
  readonly description: string
  /** Without the leading `darkroom`. */
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

/** Makes the command `name`, which does nothing itself and has `commands` as its subcommands. */
export function createCommandGroup(
  name: string,
  description: string,
  commands: readonly Command[],
): Command {
  const group = new Command(name).description(description)
  for (const command of commands) group.addCommand(command)
  return group
}
