import { succeed } from '../domain/result.ts'
import { isTaskImagePath, parseTaskRequest } from '../schema/taskRequest.ts'
import { acceptRequest } from './acceptRequest.ts'
import type { AccountHandler } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { receiveJson } from './receiveJson.ts'
import { sendAccepted } from './sendAccepted.ts'

/** Spec: `POST /v1/images/tasks`. */
export function submitTask(parts: ApiParts): AccountHandler {
  return async (context, caller) => {
    const accepted = await acceptRequest(context, caller, parts, async (staging, options) => {
      const received = await receiveJson(context, options, isTaskImagePath, staging)
      if (!received.ok) return received
      const { document, images } = received.value
      const request = parseTaskRequest(document, images)
      return request.ok ? succeed({ request: request.value }) : request
    })
    if (!accepted.ok) return accepted.failure
    sendAccepted(context, accepted.value, parts.config.publicUrl)
    return undefined
  }
}
