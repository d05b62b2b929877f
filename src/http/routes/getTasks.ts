import { defined } from '../../domain/defined.ts'
import { modelForm } from '../../domain/models/models.ts'
import { fail, succeed } from '../../domain/result.ts'
import { taskList } from '../../schema/answers/recordAnswer.ts'
import { taskListQuery } from '../../schema/queries.ts'
import { invalidValue, modelNotFound } from '../../domain/requestFailures.ts'
import { recordOf } from '../answers/recordOf.ts'
import { jsonRoute } from '../extensionRoute.ts'
import { modelsOf } from './getModels.ts'

export const listTasksRoute = jsonRoute({
  method: 'GET',
  path: '/v1/tasks',
  id: 'listTasks',
  summary: 'List the tasks of the account',
  description:
    'Newest first. To read on, repeat the request with `after` and the last id of the page, until `has_more` is false. Tasks that are created meanwhile do not appear. Records are kept for 8 days by default.',
  input: taskListQuery,
  answer: [200, 'The records, without `result`.', taskList],
  errors: ['model_not_found'],
  run: async (parts, { caller, input }) => {
    const { created_after: createdAfter, created_before: createdBefore } = input
    const { status, model, action, limit, after } = input
    if (model !== undefined && !parts.config.models.has(model)) {
      // Tasks outlive the name of their model. No model has a name of another form, and PostgreSQL takes no NUL.
      const any =
        modelForm.test(model) &&
        (await parts.reads.listOwnTasks(caller.accountId, { limit: 1, model }))
      if (any === false || any === 'unknown_after' || any.data.length === 0) {
        return fail(modelNotFound(modelsOf(parts, caller).map(({ id }) => id)))
      }
    }
    const page = await parts.reads.listOwnTasks(caller.accountId, {
      limit,
      ...defined({ status, model, action, createdAfter, createdBefore, after }),
    })
    if (page === 'unknown_after') {
      return fail(invalidValue('after', 'the account has no task with this id'))
    }
    return succeed({ ...page, data: page.data.map(({ task }) => recordOf(parts, task)) })
  },
})
