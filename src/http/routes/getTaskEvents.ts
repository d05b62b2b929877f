import { z } from 'zod'
import { endEventId, parseEventId } from '../../domain/tasks/taskEvents.ts'
import { taskId } from '../../schema/answers/recordAnswer.ts'
import { recordOf } from '../answers/recordOf.ts'
import { sendEvents } from '../answers/sendEvents.ts'
import { tooManyWaiters } from '../clientWaits.ts'
import { extensionRoute } from '../extensionRoute.ts'
import { requestedTask } from './getTask.ts'

/**
 * A stream of events (the format that `EventSource` reads) with the record of the task, now and at its changes, up to
 * its end. `EventSource` comes back after the end and names the event of the end as the last one that it has seen.
 * Such a request gets 204, which makes `EventSource` stop.
 */
export const getTaskEventsRoute = extensionRoute({
  method: 'GET',
  path: '/v1/tasks/{task_id}/events',
  id: 'getTaskEvents',
  summary: 'Follow a task by server-sent events',
  description:
    'Each event has the name `task`, the record of the task as JSON on one line, and an id: 0 queued, 1 + progress processing, 1000 ended. Events come at once, at every change of the status, and when the progress has grown by 5 or more. Every 15 s there is a comment. The stream ends after the event of the end, and when the API stops. At most 2,500 waiting requests and streams of one account.',
  params: { task_id: taskId },
  headers: {
    'Last-Event-ID': z.string().optional().meta({
      description:
        'The id of the last event that the client has seen. `EventSource` sends it by itself.',
      example: '41',
    }),
  },
  answers: {
    200: {
      description: 'The events, until the task has ended.',
      headers: ['X-Accel-Buffering'],
      content: {
        // Without a type: some tools read the schema as that of the whole stream, others as that of one event.
        'text/event-stream': z.unknown().meta({
          description: 'Events named `task`. `data` is the record of the task as JSON.',
        }),
      },
    },
    204: { description: 'The task has ended, and `Last-Event-ID` is the event of its end.' },
  },
  errors: ['task_not_found', 'rate_limit_exceeded'],
  handler: (parts) => async (context, caller) => {
    const read = await requestedTask(parts, context, caller)
    if (!read.ok) return read.failure
    const task = read.value
    const lastId = parseEventId(context.get('Last-Event-ID'))
    if (task.completedAtMs !== undefined && lastId === endEventId) {
      context.status = 204
      return undefined
    }
    const place = parts.waits.take(task.accountId, context.res)
    if (place === undefined) return tooManyWaiters
    try {
      await sendEvents(context, async function* () {
        for await (const { id, task: now } of parts.tasks.follow(
          task.taskId,
          place.signal,
          lastId,
        )) {
          yield { name: 'task', id, data: JSON.stringify(recordOf(parts, now)) }
        }
      })
    } finally {
      place.leave()
    }
    return undefined
  },
})
