import { defined } from '../../domain/defined.ts'
import { taskListQuery } from '../../schema/listQuery.ts'
import { invalidValue } from '../../schema/requestFailures.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { AccountHandler, ApiParts } from '../context.ts'
import { withQuery } from '../extensionRoute.ts'
import { recordOf } from '../answers/recordOf.ts'

/** `GET /v1/tasks`: answers with the records of the caller's tasks, newest first, without `result`. */
export function listTasks(parts: ApiParts): AccountHandler {
  return withQuery(taskListQuery, async (context, { accountId }, query) => {
    const { created_after: createdAfter, created_before: createdBefore } = query
    const { status, model, action, limit, after } = query
    const page = await parts.reads.listOwnTasks(accountId, {
      limit,
      ...defined({ status, model, action, createdAfter, createdBefore, after }),
    })
    if (page === 'unknown_after') {
      return invalidValue('after', 'the account has no task with this id')
    }
    const data = page.rows.map((task) => recordOf(parts, task))
    sendJson(context, 200, { object: 'list', data, has_more: page.hasMore })
    return undefined
  })
}
