import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { CliContext } from './context.ts'
import { historyEvents } from './historyFile.ts'
import { leaf } from './leaf.ts'
import { parseTaskId } from './parse.ts'
import { Refusal } from './refusal.ts'

export function taskHistory(context: CliContext): Command {
  return leaf({
    usage: 'history',
    description: "write a task's Temporal history to a file, for replay or for Temporal's UI",
    examples: [
      'task history task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu',
      'task history task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu --out - | jq .events[].eventType',
    ],
  })
    .argument('<id>', 'task id', parseTaskId)
    .option('--out <file>', 'where to; - for standard output (default: ID.history.json)')
    .action(async (taskId: string, { out }: { readonly out?: string }) => {
      const text = await historyOf(context, taskId)
      if (out === '-') return context.show({ json: JSON.parse(text), text })
      const file = out ?? `${taskId}.history.json`
      await writeFile(file, `${text}\n`).catch((error: Error) => {
        throw new Refusal(`${file} cannot be written: ${error.message}`)
      })
      const events = historyEvents(text)?.length ?? 0
      return context.show({
        json: { task_id: taskId, file, events },
        text: `${events} events are in ${file}.`,
      })
    })
}

export async function historyOf(context: CliContext, taskId: string): Promise<string> {
  const text = await (await context.parts.fetchHistory())(taskId)
  if (text === undefined) throw new Refusal(`Temporal knows no run of ${taskId}.`)
  return text
}
