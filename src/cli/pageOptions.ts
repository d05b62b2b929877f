import type { Command } from 'commander'
import type { Answer } from './answer.ts'
import { parseLimit } from './parse.ts'

// Commands that list rows, newest first.

/** Adds the options that say which rows. `things` are the rows, such as `tasks`. */
export function withPageOptions(
  command: Command,
  things: string,
  parseId: (text: string) => string | number,
): Command {
  return command
    .option('--limit <n>', `maximum number of ${things}`, parseLimit, 50)
    .option('--after <id>', `only ${things} that come after this one in the list`, parseId)
}

/** Returns what to say when more rows follow: how to list them. `lastId` names the last row that was listed. */
export function moreNote(
  hasMore: boolean,
  lastId: string | number | undefined,
  things: string,
): Pick<Answer, 'note'> {
  if (!hasMore || lastId === undefined) return {}
  return { note: `More ${things} follow: add --after ${lastId}, or raise --limit.` }
}
