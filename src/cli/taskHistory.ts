import type { Command } from 'commander'
import { readFile, writeFile } from 'node:fs/promises'
import { createCommand } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import type { HistoryEvents } from '../temporal/worker/replay.ts'
import { parseTaskId } from './parse.ts'

/** `task history`: writes the Temporal history of a task to a file. */
export function historyCommand(context: CliContext): Command {
  return createCommand(
    'history',
    "write a task's Temporal history to a file, for task replay or for Temporal's UI",
    'task history task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
    'task history task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu --out - | jq .events[].eventType',
  )
    .argument('<id>', 'task id', parseTaskId)
    .option('--out <file>', 'output file, or - for standard output (default: ID.history.json)')
    .action(async (taskId: string, { out }: { readonly out?: string }) => {
      const text = await requireHistory(context, taskId)
      if (out === '-') return context.show({ json: JSON.parse(text), text })
      const file = out ?? `${taskId}.history.json`
      await writeFile(file, `${text}\n`).catch((error: Error) => {
        throw new Error(`${file} cannot be written: ${error.message}`)
      })
      const events = parseHistory(text)?.length ?? 0
      return context.show({
        json: { task_id: taskId, file, events },
        text: `Wrote ${events} events to ${file}.`,
      })
    })
}

/** `task replay`: checks whether this checkout's workflow code is compatible with a recorded history. */
export function replayCommand(context: CliContext): Command {
  const command = createCommand(
    'replay',
    "check, without side effects, that this checkout's workflow code produces the events of a history (exit code 1 if not)",
    'task replay task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
    'task replay --file task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu.history.json',
  )
  return command
    .argument('[id]', 'id of the task whose history is fetched from Temporal', parseTaskId)
    .option('--file <file>', 'history file to replay, without a running service')
    .action(async (taskId: string | undefined, { file }: { readonly file?: string }) => {
      if (taskId !== undefined && file === undefined) {
        return replay(context, parseHistory(await requireHistory(context, taskId)) ?? [])
      }
      if (taskId === undefined && file !== undefined) {
        return replay(context, await readHistoryFile(file))
      }
      return command.error('error: give either a task id or --file')
    })
}

/** Fetches the history of a task from Temporal. Throws if Temporal has no run of the task. */
async function requireHistory(context: CliContext, taskId: string): Promise<string> {
  const text = await context.service().fetchHistory(taskId)
  if (text === undefined) {
    const hint = 'A worker may have finished the task without a run: see task show.'
    throw new Error(`Temporal has no run of ${taskId}. ${hint}`)
  }
  return text
}

/**
 * Reads a history file that `task history`, Temporal's UI or Temporal's CLI wrote. Throws when that fails.
 */
async function readHistoryFile(path: string): Promise<HistoryEvents> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new Error(`${path} cannot be read: ${error.message}`)
  })
  const events = parseHistory(text)
  if (events === undefined) throw new Error(`${path} is not a history in Temporal's JSON.`)
  return events
}

/** Returns the events of a history in Temporal's JSON, or `undefined` for any other text. */
function parseHistory(text: string): HistoryEvents | undefined {
  let history: unknown
  try {
    history = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(history) || !Array.isArray(history['events'])) return undefined
  const events: unknown[] = history['events']
  return events.every(isObject) ? events : undefined
}

async function replay(context: CliContext, events: HistoryEvents): Promise<void> {
  const { replayTask } = context.service()
  const reason = await replayTask(events)
  const { length } = events
  if (reason !== undefined) {
    const json = { replays: false, events: length, reason }
    return context.show({ json, text: `Differs.\n${reason}`, exitCode: 1 })
  }
  const text = `Replays: this checkout's workflow code produces all ${length} events.`
  return context.show({ json: { replays: true, events: length }, text })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
