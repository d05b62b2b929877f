import type { Command } from 'commander'
import type { HistoryEvents, Replayed } from '../domain/ports/taskRuns.ts'
import type { Answer, CliContext } from './context.ts'
import { describeEvent, historyEvents, readHistoryFile } from './historyFile.ts'
import { leaf } from './leaf.ts'
import { parseTaskId } from './parse.ts'
import { historyOf } from './taskHistory.ts'

export function taskReplay(context: CliContext): Command {
  const command = leaf({
    usage: 'replay',
    description:
      "check that this checkout's workflow code would do what a history says (exit 1: it would not); without effects",
    examples: [
      'task replay task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
      'task replay --file task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu.history.json',
    ],
  })
  return command
    .argument('[id]', 'task id, its history fetched from Temporal', parseTaskId)
    .option('--file <file>', 'a history that was written before; needs nothing running')
    .action(async (taskId: string | undefined, { file }: { readonly file?: string }) => {
      if ((taskId === undefined) === (file === undefined)) {
        return command.error('error: name a task id or --file, one of the two')
      }
      const events =
        file === undefined
          ? (historyEvents(await historyOf(context, taskId ?? '')) ?? [])
          : await readHistoryFile(file)
      return context.show(answerOf(await replay(context, events)))
    })
}

async function replay(context: CliContext, events: HistoryEvents): Promise<Replayed> {
  return (await context.parts.replayTask())(events)
}

function answerOf(replayed: Replayed): Answer {
  const { events } = replayed
  if (replayed.kind === 'same') {
    return {
      json: { replays: true, events },
      text: `Replays: all ${events} events are what this checkout's workflow code would do.`,
    }
  }
  const { reason } = replayed
  const event = describeEvent(replayed.at)
  const of = event.activity === undefined ? '' : ` of ${event.activity}`
  return {
    json: { replays: false, events, event, reason },
    text: `Differs at event ${event.id} of ${events}, ${event.type}${of}.\n${reason}`,
    exitCode: 1,
  }
}
