import { z } from 'zod'
import { taskFailureCodes } from '../../domain/failure.ts'
import { idForms } from '../../domain/ids.ts'
import { inputMimeTypes } from '../../domain/models/models.ts'
import { publicStatuses } from '../../domain/tasks/task.ts'
import { listOf } from './listAnswer.ts'
import { contentByUrl, imagesByUrl } from './nativeAnswer.ts'

export const taskId = z.string().regex(idForms.task_id.pattern).meta({
  description: 'The public identifier of a task.',
  example: 'task_0123456789ABCDEFGHIJKLMNOPQRSTUV',
})

/** An instant in answers: RFC 3339 in UTC, in whole seconds. */
export const instant = z.iso.datetime()

/** The body of the 202 that answers a submit. */
export const taskAccepted = z
  .object({
    task_id: taskId,
    status: z.literal('queued'),
    created_at: z.int().meta({
      description: 'Unix time in seconds.',
      format: 'int64',
      example: 1_767_225_600,
    }),
  })
  .meta({ id: 'TaskAccepted', description: 'An accepted task.' })

const asset = z.object({
  type: z.literal('image'),
  url: z.url().meta({ description: 'A download address. It works without a header.' }),
  mime_type: z.enum(inputMimeTypes),
})

const fields = z.object({
  task_id: taskId,
  model: z.string(),
  status: z.enum(publicStatuses).meta({
    description:
      '`succeeded`, `failed` and `expired` are ends. A succeeded task becomes `expired` when its image is deleted, after 24 hours by default.',
  }),
  created_at: instant,
  progress: z.int().min(0).max(100).meta({
    description: 'Percent. It never falls, and is 100 only after success.',
  }),
  completed_at: instant.optional().meta({ description: 'Present when the task has ended.' }),
  output: z
    .object({ assets: z.array(asset).length(1) })
    .optional()
    .meta({ description: 'Present while `status` is `succeeded`.' }),
  error: z
    .object({ code: z.enum(taskFailureCodes), message: z.string() })
    .optional()
    .meta({ description: 'Present when `status` is `failed`.' }),
})

/** The record of a task in lists and in events for webhooks, which do not contain the native response. */
export const listedTask = fields.meta({
  id: 'ListedTask',
  description: 'The record of a task, without `result`.',
})

/** The answer of `GET /v1/tasks`. */
export const taskList = listOf(listedTask).meta({
  id: 'TaskList',
  description: 'One page of tasks, newest first.',
})

/** The record of a task. Fields that do not apply are absent, never null. */
export const taskRecord = fields
  .extend({
    result: z.union([imagesByUrl, contentByUrl]).optional().meta({
      description:
        'The native response of the model family, with the address of the image in the place of its bytes. Present while `status` is `succeeded`.',
    }),
  })
  .meta({
    id: 'Task',
    description: 'The record of a task. Fields that do not apply are absent, never null.',
    example: {
      task_id: 'task_0123456789ABCDEFGHIJKLMNOPQRSTUV',
      model: 'familyb-image-2-vip',
      status: 'processing',
      created_at: '2026-01-01T00:00:00Z',
      progress: 42,
    },
  })
