import { defined } from '../../domain/defined.ts'
import { taskList } from '../../schema/answers/taskRecord.ts'
import { taskListQuery } from '../../schema/listQuery.ts'
import { invalidValue } from '../../schema/requestFailures.ts'
import { recordOf } from '../answers/recordOf.ts'
import { sendJson } from '../answers/sendBody.ts'
import { extensionRoute } from '../extensionRoute.ts'
import { json } from '../route.ts'

export const listTasksRoute = extensionRoute({
  method: 'GET',
  path: '/v1/tasks',
  id: 'listTasks',
  summary: 'List the tasks of the account',
  description:
    'Newest first. To read on, repeat the request with `after` and the last id of the page, until `has_more` is false. Tasks that are created meanwhile do not appear. Records are kept for 8 days by default.',
  input: taskListQuery,
  answers: { 200: { description: 'The records, without `result`.', content: json(taskList) } },
  errors: ['model_not_found'],
  handler:
    (parts) =>
    async (context, { accountId }, query) => {
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
    },
})
