import { endEventId, parseEventId } from '../../domain/tasks/taskEvents.ts'
import { noFields } from '../../schema/extensionRequest.ts'
import { sendEvents } from '../answers/sendEvents.ts'
import { tooManyWaiters } from '../answers/waitPlaces.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import { withQuery } from '../extensionRoute.ts'
import { recordOf } from '../answers/recordOf.ts'
import { requestedTask } from '../intake/requestedTask.ts'

/**
 * `GET /v1/tasks/{task_id}/events`: a stream of events (the format that `EventSource` reads) with the record of
 * the task, now and at its changes, up to its end. `EventSource` comes back after the end and names the event of the
 * end as the last one that it has seen. Such a request gets 204, which makes `EventSource` stop.
 */
export function getTaskEvents(parts: ApiParts): AccountHandler {
  return withQuery(noFields, async (context, caller) => {
    const read = await requestedTask(parts, context, caller)
    if (!read.ok) return read.failure
    const task = read.value
    const lastId = parseEventId(context.get('Last-Event-ID'))
    if (task.completedAtMs !== undefined && lastId === endEventId) {
      context.status = 204
      return undefined
    }
    const place = parts.waitPlaces.take(task.accountId, context.res)
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
  })
}
