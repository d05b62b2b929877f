import type { Command } from 'commander'
import { readFile, writeFile } from 'node:fs/promises'
import type { Answer } from './answer.ts'
import { CommandError } from './answer.ts'
import { createCommand } from './command.ts'
import type { CliContext } from './context.ts'
import { defined } from '../domain/defined.ts'
import type { HistoryEvents, Replayed } from '../domain/ports/taskRuns.ts'
import { parseTaskId } from './parse.ts'

/** `task history`: writes the Temporal history of a task to a file. */
export function historyCommand(context: CliContext): Command {
  return createCommand({
    usage: 'history',
    description: "write a task's Temporal history to a file, for task replay or for Temporal's UI",
    examples: [
      'task history task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
      'task history task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu --out - | jq .events[].eventType',
    ],
  })
    .argument('<id>', 'task id', parseTaskId)
    .option('--out <file>', 'output file, or - for standard output (default: ID.history.json)')
    .action(async (taskId: string, { out }: { readonly out?: string }) => {
      const text = await requireHistory(context, taskId)
      if (out === '-') return context.show({ json: JSON.parse(text), text })
      const file = out ?? `${taskId}.history.json`
      await writeFile(file, `${text}\n`).catch((error: Error) => {
        throw new CommandError(`${file} cannot be written: ${error.message}`)
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
  const command = createCommand({
    usage: 'replay',
    description:
      "check, without side effects, that this checkout's workflow code produces the events of a history (exit code 1 if not)",
    examples: [
      'task replay task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
      'task replay --file task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu.history.json',
    ],
  })
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

/** Fetches the history of a task from Temporal. Throws `CommandError` if Temporal has no run of the task. */
async function requireHistory(context: CliContext, taskId: string): Promise<string> {
  const text = await (await context.parts.fetchHistory())(taskId)
  if (text === undefined) {
    const hint = 'A worker may have finished the task without a run: see task show.'
    throw new CommandError(`Temporal has no run of ${taskId}. ${hint}`)
  }
  return text
}

/**
 * Reads a history file that `task history`, Temporal's UI or Temporal's CLI wrote. Throws `CommandError` when
 * that fails.
 */
async function readHistoryFile(path: string): Promise<HistoryEvents> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new CommandError(`${path} cannot be read: ${error.message}`)
  })
  const events = parseHistory(text)
  if (events === undefined) throw new CommandError(`${path} is not a history in Temporal's JSON.`)
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
  const replayTask = await context.parts.replayTask()
  context.show(replayAnswer(await replayTask(events)))
}

function replayAnswer(replayed: Replayed): Answer {
  const { events } = replayed
  if (replayed.kind === 'same') {
    return {
      json: { replays: true, events },
      text: `Replays: this checkout's workflow code produces all ${events} events.`,
    }
  }
  const { reason } = replayed
  const event = describeEvent(replayed.at)
  const ofActivity = event.activity === undefined ? '' : ` of ${event.activity}`
  return {
    json: { replays: false, events, event, reason },
    text: `Differs at event ${event.id} of ${events}, ${event.type}${ofActivity}.\n${reason}`,
    exitCode: 1,
  }
}

/** Describes an event, for example as id 11, type `ActivityTaskScheduled`, activity `recordFailure`. */
function describeEvent(event: HistoryEvents[number]) {
  // Older versions of Temporal's tools write `ActivityTaskScheduled`. Newer versions write
  // `EVENT_TYPE_ACTIVITY_TASK_SCHEDULED`.
  const type = String(event['eventType']).replace(/^EVENT_TYPE_/, '')
  const scheduled = event['activityTaskScheduledEventAttributes']
  const activityType = isObject(scheduled) ? scheduled['activityType'] : undefined
  const activity = isObject(activityType) ? activityType['name'] : undefined
  return {
    id: Number(event['eventId']),
    type: /^[A-Z_]+$/.test(type) ? pascalCase(type) : type,
    ...defined({ activity: typeof activity === 'string' ? activity : undefined }),
  }
}

function pascalCase(type: string): string {
  return type
    .split('_')
    .map((word) => word.slice(0, 1) + word.slice(1).toLowerCase())
    .join('')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
