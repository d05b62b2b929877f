import type { Client, TaskRecord } from './client.ts'

/** One event of a task's stream. */
export type TaskStreamEvent = { readonly id: number; readonly record: TaskRecord }

/** Reads the events of a stream, and the comments in it, until the stream ends. */
export async function readEvents(
  response: Response,
  onEvent: (event: TaskStreamEvent) => void = () => {},
): Promise<{ readonly events: readonly TaskStreamEvent[]; readonly comments: number }> {
  const events: TaskStreamEvent[] = []
  let comments = 0
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      if (block.startsWith(':')) comments += 1
      else {
        const event = eventOf(block)
        events.push(event)
        onEvent(event)
      }
    }
  }
  if (rest !== '') throw new Error(`the stream ended within an event: ${rest}`)
  return { events, comments }
}

function eventOf(block: string): TaskStreamEvent {
  const [, id, data] = /^event: task\nid: (\d+)\ndata: (\{.*\})$/.exec(block) ?? []
  if (data === undefined) throw new Error(`not an event of a task: ${block}`)
  return { id: Number(id), record: JSON.parse(data) }
}

/** Opens the event stream of a task. */
export function openEvents(
  client: Pick<Client, 'url' | 'authorization'>,
  taskId: string,
  lastId?: number,
): Promise<Response> {
  const resume = lastId === undefined ? {} : { 'last-event-id': String(lastId) }
  return fetch(`${client.url}/v1/tasks/${taskId}/events`, {
    headers: { authorization: client.authorization, ...resume },
  })
}
