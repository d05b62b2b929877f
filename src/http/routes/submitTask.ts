import { succeed } from '../../domain/result.ts'
import { isTaskImagePath, parseTaskRequest } from '../../schema/taskRequest.ts'
import { answerAsync } from '../answers/answerAsync.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import type { Receive } from '../intake/acceptRequest.ts'
import { acceptRequest } from '../intake/acceptRequest.ts'
import { receiveJson } from '../intake/receiveJson.ts'

/** `POST /v1/images/tasks`: answers at once with the id of the task. */
export function submitTask(parts: ApiParts): AccountHandler {
  return (context, caller) => {
    const receive: Receive = async (options) => {
      const received = await receiveJson(context, options, isTaskImagePath)
      if (!received.ok) return received
      const { document, images } = received.value
      const request = parseTaskRequest(document, images)
      return request.ok ? succeed({ request: request.value }) : request
    }
    return acceptRequest(context, caller, parts, receive, answerAsync(context, parts))
  }
}
