import type { Command } from 'commander'
import type { Answer } from './answer.ts'
import type { CliContext } from './cliContext.ts'
import type { Progress } from '../operations/doMany.ts'
import { parseLimit } from './parse.ts'

// These commands act on one thing, given by its id, or on many, selected by options.

export type ManyOptions = { readonly limit: number; readonly dryRun?: true }

/**
 * Adds `--limit` and `--dry-run`. `things` are what the command works on, such as `tasks`. `doneTo` says what happens to
 * them, such as `cancelled`.
 */
export function withManyOptions(command: Command, things: string, doneTo: string): Command {
  return command
    .option('--limit <n>', `maximum number of ${things}, newest first`, parseLimit, 100)
    .option('--dry-run', `only list the ${things} that would be ${doneTo}`)
}

/** Reports wrong usage unless there is either one id, or a choice of many. A dry run needs a choice. */
export function requireOneOrMany(
  command: Command,
  given: { readonly one: boolean; readonly many: boolean; readonly dryRun: boolean },
  texts: { readonly one: string; readonly choices: string },
): void {
  if (given.one === given.many) {
    command.error(`error: give either ${texts.one}, or ${texts.choices} for many`)
  }
  if (given.one && given.dryRun) command.error(`error: --dry-run requires ${texts.choices}`)
}

/** Runs work on many tasks, and shows meanwhile how many are done. */
export function withCounts<Value>(
  context: CliContext,
  doneTo: string,
  work: (onProgress: (progress: Progress) => void) => Promise<Value>,
): Promise<Value> {
  let now: Progress = { done: 0, refused: 0, total: 0 }
  const text = () => `${now.done} of ${now.total} tasks ${doneTo}, ${now.refused} refused`
  return context.withProgress(text, () => work((progress) => (now = progress)))
}

/** Returns the answer of a dry run. `ids` are what would be done. */
export function dryRunAnswer(
  json: unknown,
  ids: readonly string[],
  limit: number,
  whenEmpty: string,
): Answer {
  const text = ids.length === 0 ? whenEmpty : ids.join('\n')
  return { json, text, ...limitNote(ids.length, limit) }
}

/** Says that more may match, when there are as many as the command was allowed. */
function limitNote(count: number, limit: number): Pick<Answer, 'note'> {
  return count < limit ? {} : { note: `--limit ${limit} is reached, and more may match.` }
}

/** Returns the answer about many, with a line for each. The exit code is 1 if some were refused. */
export function manyAnswer(
  json: unknown,
  lines: { readonly done: readonly string[]; readonly refused: readonly string[] },
  limit: number,
  doneTo: string,
): Answer {
  const { done, refused } = lines
  const counts = `${done.length} ${doneTo}, ${refused.length} refused.`
  return {
    json,
    text: [...done, ...refused, counts].join('\n'),
    ...limitNote(done.length + refused.length, limit),
    exitCode: refused.length === 0 ? 0 : 1,
  }
}
