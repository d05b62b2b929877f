import { Command } from 'commander'

/** A command that does something: its own `--json`, and examples under `--help`. */
export function leaf(given: {
  /** With its arguments: `create <name>`. */
  readonly usage: string
  readonly description: string
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

/** A command that only holds others. */
export function group(name: string, description: string, leaves: readonly Command[]): Command {
  const command = new Command(name).description(description)
  for (const each of leaves) command.addCommand(each)
  return command
}
