import { freeMemory } from '../../bytes/freeMemory.ts'
import type { BudgetState } from '../../domain/accounts/budget.ts'
import { defined } from '../../domain/defined.ts'
import { isoTime } from '../../domain/isoTime.ts'
import { estimate } from '../../schema/answers/estimateAnswer.ts'
import { estimateRequest, parseEstimateRequest } from '../../schema/estimateRequest.ts'
import { isTaskImagePath } from '../../schema/taskRequest.ts'
import { rateLimitUses } from '../answers/answerHeaders.ts'
import { rateLimitHeaders } from '../answers/rateLimitHeaders.ts'
import { sendJson } from '../answers/sendBody.ts'
import { accountRoute } from '../authenticate.ts'
import { errorReply } from '../errors.ts'
import { bodyErrors } from '../errorTable.ts'
import { receiveJson } from '../intake/receiveJson.ts'
import { withoutQuery } from '../intake/receiveInput.ts'
import { withBodyRoom } from '../intake/submit.ts'
import { json } from '../route.ts'

export const estimateRoute = accountRoute({
  method: 'POST',
  path: '/v1/estimate',
  id: 'estimateTask',
  summary: 'Estimate a task before it is submitted',
  description:
    'Says what a submit of the same body would hold, and whether it would be accepted now. What is not valid, or not allowed, gets the error of the submit. Nothing is written, an Idempotency-Key is ignored, and it counts against no limit.',
  extension: true,
  body: json(estimateRequest),
  answers: {
    200: {
      description: 'What the submit would hold.',
      headers: rateLimitUses,
      content: json(estimate),
    },
  },
  errors: [...bodyErrors, 'model_not_found', 'invalid_image', 'access_denied'],
  errorHeaders: rateLimitUses,
  handler: (parts) => async (context, caller) => {
    const query = withoutQuery(context)
    if (!query.ok) return query.failure
    const request = await withBodyRoom({ caller, parts }, async (options) => {
      const received = await receiveJson(context, options, isTaskImagePath)
      if (!received.ok) return received
      const { document, images } = received.value
      const parsed = parseEstimateRequest(document, images)
      for (const { content } of images) freeMemory(content)
      return parsed
    })
    if (!request.ok) return request.failure
    const estimated = await parts.tasks.estimate({ caller, request: request.value })
    const told = estimated.ok ? estimated.value.means : estimated.failure
    const requests = 'requests' in told ? told.requests : undefined
    if (requests !== undefined) context.set(rateLimitHeaders(requests))
    if (!estimated.ok) return estimated.failure
    const { credits, means, refusal, expectedSeconds } = estimated.value
    sendJson(context, 200, {
      object: 'estimate',
      credits,
      accepted: refusal === undefined,
      ...defined({ reason: refusal && reasonOf(refusal) }),
      credits_available: means.available,
      budget: means.budget === undefined ? null : budgetLeft(means.budget),
      expected_seconds: expectedSeconds,
    })
    return undefined
  },
})

/** The error that the submit would get. */
function reasonOf(refusal: Parameters<typeof errorReply>[0]) {
  const { code, message } = errorReply(refusal)
  return { code, message }
}

/** An operator may have set a budget that is used up already. */
function budgetLeft({ credits, used, renewsAtMs }: BudgetState) {
  return { left: Math.max(0, credits - used), renews_at: isoTime(renewsAtMs) }
}
