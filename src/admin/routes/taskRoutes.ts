import { z } from 'zod'
import { adminRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../adminParts.ts'
import { defined } from '../../domain/defined.ts'
import { taskFailureCodes } from '../../domain/failure.ts'
import { modelForm, modelFormText } from '../../domain/models/models.ts'
import { succeed } from '../../domain/result.ts'
import { publicStatuses } from '../../domain/tasks/task.ts'
import * as manyTasks from '../../operations/manyTasks.ts'
import { purgeTask } from '../../operations/taskContents.ts'
import * as tasks from '../../operations/tasks.ts'
import { taskId } from '../../schema/answers/recordAnswer.ts'
import {
  cancelledMany,
  retried,
  retriedMany,
  taskRow,
  taskStory,
} from '../../schema/operators/operatorTasks.ts'
import { anyText, many, ofTask, onlyThese } from '../schemas/parameters.ts'
import { listOf } from '../../schema/answers/listAnswer.ts'
import { createdBetween, pageQuery } from '../../schema/queries.ts'

/** Which tasks. A field that is absent matches every task. */
const filter = {
  account: anyText.optional().meta({ description: 'The name of an account.' }),
  model: z.string().regex(modelForm, { error: modelFormText }).optional(),
  ...createdBetween,
}
const failureCode = z.enum(taskFailureCodes).optional()
const manyFilter = { ...filter, task_ids: onlyThese(taskId) }

type Given = z.output<z.ZodObject<typeof manyFilter>>

function filterOf({ account, model, task_ids: taskIds, ...given }: Given) {
  const { created_after: createdAfter, created_before: createdBefore } = given
  return defined({ account, model, taskIds, createdAfter, createdBefore })
}

const listed = pageQuery('task_id').extend({
  ...filter,
  status: z.enum(publicStatuses).optional(),
  failure_code: failureCode,
  idempotency_key: anyText.optional().meta({ description: 'As the client sent it.' }),
})

function listOptions(input: z.output<typeof listed>) {
  const { status, failure_code: failureCode, idempotency_key: idempotencyKey } = input
  const { limit, after } = input
  const more = defined({ status, failureCode, idempotencyKey, after })
  return { limit, ...filterOf(input), ...more }
}

const cancelRefusals = ['call_under_way', 'work_possible', 'succeeded', 'failed'] as const
const retryRefusals = [
  'not_failed',
  'already_retried',
  'inputs_gone',
  'model_gone',
  'insufficient',
] as const

export const taskRoutes: readonly AdminRoute[] = [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/tasks',
    id: 'listTasks',
    summary: 'List tasks of any account, newest first',
    description: '`Accept: text/csv` returns the same tasks, and their number.',
    input: listed,
    answer: [200, 'Records of tasks.', listOf(taskRow)],
    errors: ['not_found'],
    run: ({ operator, input }) => tasks.listTasks(operator, listOptions(input)),
    csv: async ({ operator, input }) => {
      const list = await tasks.listTasks(operator, listOptions(input))
      return list.ok ? succeed(tasks.tasksCsv(list.value)) : list
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/tasks/{task_id}',
    id: 'getTask',
    summary: 'Read the story of a task',
    params: ofTask,
    answer: [200, 'The task and its events.', taskStory],
    run: ({ operator, params }) => tasks.showTask(operator, params.task_id),
  }),
  adminRoute({
    method: 'DELETE',
    path: '/admin/v1/tasks/{task_id}',
    id: 'purgeTask',
    summary: 'Delete the image and the contents of a task',
    description: 'Answers when the bytes are gone. After a 500 send it again.',
    params: ofTask,
    answer: [200, 'They are deleted.', z.object({ purged: z.literal(true) })],
    refusals: ['task_not_finished'],
    run: ({ operator, params }) => purgeTask(operator, params.task_id),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/tasks/{task_id}/cancel',
    id: 'cancelTask',
    summary: 'Cancel a task',
    description: 'Refused while a call is under way, and after one that may have done work.',
    params: ofTask,
    answer: [200, 'The task is cancelled.', z.object({ cancelled: z.literal(true) })],
    refusals: cancelRefusals,
    run: ({ operator, params }) => tasks.cancelTaskAndRun(operator, params.task_id),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/tasks/{task_id}/retry',
    id: 'retryTask',
    summary: 'Make a failed task again',
    description: 'Makes a new task, at today’s price and with a new deadline.',
    params: ofTask,
    answer: [200, 'The new task, and the one that failed.', retried],
    refusals: retryRefusals,
    run: ({ operator, params }) => tasks.retryTask(operator, params.task_id),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/tasks/retry',
    id: 'retryTasks',
    summary: 'Make failed tasks again that nobody has made again yet',
    input: z.strictObject({
      filter: z.strictObject({ ...manyFilter, failure_code: failureCode }),
      ...many,
    }),
    answer: [200, 'What was done, or what would be.', retriedMany],
    errors: ['not_found'],
    run: ({ operator, input: { filter: given, limit, dry_run: dryRun } }) => {
      const failureCode = given.failure_code
      const filter = { ...filterOf(given), ...defined({ failureCode }) }
      return manyTasks.retryTasks(operator, { filter, limit, dryRun })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/tasks/cancel',
    id: 'cancelTasks',
    summary: 'Cancel live tasks',
    input: z.strictObject({
      filter: z.strictObject({
        ...manyFilter,
        status: z.enum(['queued', 'processing']).optional(),
      }),
      ...many,
    }),
    answer: [200, 'What was done, or what would be.', cancelledMany],
    errors: ['not_found'],
    run: ({ operator, input: { filter: given, limit, dry_run: dryRun } }) => {
      const { status } = given
      const filter = { ...filterOf(given), ...defined({ status }) }
      return manyTasks.cancelTasks(operator, { filter, limit, dryRun })
    },
  }),
]
