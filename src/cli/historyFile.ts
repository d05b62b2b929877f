import { readFile } from 'node:fs/promises'
import type { HistoryEvents } from '../domain/ports/taskRuns.ts'
import { Refusal } from './refusal.ts'

/** Reads a file that `task history`, Temporal's UI or its CLI wrote. Throws `Refusal` naming the file. */
export async function readHistoryFile(path: string): Promise<HistoryEvents> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unreadable'
    throw new Refusal(`${path} cannot be read: ${reason}`)
  }
  const events = historyEvents(text)
  if (events === undefined) throw new Refusal(`${path} is not a history in Temporal's JSON.`)
  return events
}

/** The events of a history in Temporal's JSON; `undefined` for any other text. */
export function historyEvents(text: string): HistoryEvents | undefined {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(read) || !Array.isArray(read['events'])) return undefined
  const events: unknown[] = read['events']
  return events.every(isObject) ? events : undefined
}

/** `11`, `ActivityTaskScheduled`, `recordFailure`: how people speak of an event. */
export function describeEvent(event: HistoryEvents[number]): {
  readonly id: number
  readonly type: string
  readonly activity?: string
} {
  const type = String(event['eventType']).replace(/^EVENT_TYPE_/, '')
  const scheduled = event['activityTaskScheduledEventAttributes']
  const activityType = isObject(scheduled) ? scheduled['activityType'] : undefined
  const activity = isObject(activityType) ? activityType['name'] : undefined
  return {
    id: Number(event['eventId']),
    type: /^[A-Z_]+$/.test(type) ? camelCased(type) : type,
    ...(typeof activity === 'string' ? { activity } : {}),
  }
}

function camelCased(type: string): string {
  return type
    .split('_')
    .map((word) => word.slice(0, 1) + word.slice(1).toLowerCase())
    .join('')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
