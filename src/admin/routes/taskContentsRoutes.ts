import { z } from 'zod'
import { adminRoute, imageRoute } from '../adminRoute.ts'
import type { AdminRoute } from '../adminParts.ts'
import * as contents from '../../operations/taskContents.ts'
import { taskRequest } from '../../schema/operators/operatorTasks.ts'
import { variantQuery } from '../../schema/assetForm.ts'
import { ofTask } from '../schemas/parameters.ts'

const shared = {
  method: 'GET',
  access: 'operator',
} as const

/** What clients sent and got. Only operators see it, and each look is recorded. */
export const taskContentRoutes: readonly AdminRoute[] = [
  adminRoute({
    ...shared,
    path: '/admin/v1/tasks/{task_id}/request',
    id: 'getTaskRequest',
    summary: 'Read the prompt of a task',
    description: 'Kept until success, and of a failed task as long as it can be retried.',
    params: ofTask,
    answer: [200, 'What the client asked for.', taskRequest],
    refusals: ['inputs_gone'],
    run: ({ operator, params }) => contents.showRequest(operator, params.task_id),
  }),
  imageRoute({
    ...shared,
    path: '/admin/v1/tasks/{task_id}/request/images/{n}',
    id: 'getSourceImage',
    summary: 'Read a source image of a task',
    params: ofTask.extend({
      n: z
        .string()
        .regex(/^[1-9]\d?$/, { error: 'the number of an image, from 1' })
        .transform(Number)
        .meta({ example: '1' }),
    }),
    refusals: ['inputs_gone'],
    run: ({ operator, params: { task_id: taskId, n } }) =>
      contents.openSourceImage(operator, { taskId, n }),
  }),
  imageRoute({
    ...shared,
    path: '/admin/v1/tasks/{task_id}/image',
    id: 'getTaskImage',
    summary: 'Read the image of a task',
    description:
      '`width` and `format` make it smaller or convert it. Where that cannot be done in time, it is the image itself.',
    params: ofTask,
    input: variantQuery,
    refusals: ['no_image'],
    run: ({ operator, params, input }) => contents.openTaskImage(operator, params.task_id, input),
  }),
]
