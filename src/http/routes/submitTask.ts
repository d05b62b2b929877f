import { isTaskImagePath, parseTaskRequest, taskRequest } from '../../schema/taskRequest.ts'
import { accountRoute } from '../authenticate.ts'
import { answerAsync } from '../answers/answerAsync.ts'
import { rateLimitUses } from '../answers/answerHeaders.ts'
import type { Receive } from '../intake/submit.ts'
import { submitHandler } from '../intake/submit.ts'
import { idempotencyKey } from '../intake/idempotencyKey.ts'
import { receiveJson } from '../intake/receiveJson.ts'
import { taskAccepted } from '../../schema/answers/recordAnswer.ts'
import { submitErrors } from '../errorTable.ts'
import { json } from '../route.ts'

const receiveTask: Receive = async (context, options) => {
  const received = await receiveJson(context, options, isTaskImagePath)
  return received.ok ? parseTaskRequest(received.value.document, received.value.images) : received
}

export const submitTaskRoute = accountRoute({
  method: 'POST',
  path: '/v1/images/tasks',
  id: 'submitTask',
  summary: 'Submit a task',
  description:
    'Answers at once. Read the record every 2 to 5 seconds until `status` is `succeeded`, `failed` or `expired`. The credits are held now, charged when the task succeeds, and released when it does not.',
  headers: idempotencyKey,
  body: json(taskRequest),
  answers: {
    202: {
      description: 'The task is accepted, or the Idempotency-Key names this earlier task.',
      headers: [
        'Location',
        'Retry-After',
        'Idempotent-Replayed?',
        'X-Credits-Held',
        ...rateLimitUses,
      ],
      content: json(taskAccepted),
    },
  },
  errors: submitErrors,
  errorHeaders: rateLimitUses,
  handler: submitHandler(receiveTask, answerAsync),
})
