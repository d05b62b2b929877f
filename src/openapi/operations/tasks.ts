import { z } from 'zod'
import { acceptErrors, jsonBodyErrors, queryErrors } from '../errorCatalog.ts'
import { examples } from '../examples.ts'
import { linksToTask } from '../links.ts'
import { idempotencyKey, lastEventId, preferWait } from '../parameters.ts'
import type { Operation } from '../operation.ts'
import { json } from '../operation.ts'
import { contentResponse } from '../../schema/answers/contentResponse.ts'
import { imagesResponse } from '../../schema/answers/imagesResponse.ts'
import { taskAccepted, taskId, taskList, taskRecord } from '../../schema/answers/taskRecord.ts'
import { taskListQuery } from '../../schema/listQuery.ts'
import { taskRequest } from '../../schema/taskRequest.ts'

const taskPath = z.object({ task_id: taskId })

export const submitTask: Operation = {
  method: 'post',
  path: '/v1/images/tasks',
  id: 'submitTask',
  tag: 'Tasks',
  summary: 'Submit a task',
  description:
    'Answers at once. Read the record every 2 to 5 seconds until `status` is `succeeded`, `failed` or `expired`. The credits are held now, charged when the task succeeds, and released when it does not.',
  access: 'account',
  envelope: 'full',
  request: {
    headers: idempotencyKey,
    body: json(taskRequest, {
      'Generate, family B': examples.generateB,
      'Generate, family A': examples.generateA,
      Edit: examples.edit,
    }),
  },
  answers: {
    202: {
      description: 'The task is accepted, or the Idempotency-Key names this earlier task.',
      headers: {
        Location: 'always',
        'Retry-After': 'always',
        'Idempotent-Replayed': 'sometimes',
        'X-Credits-Held': 'always',
      },
      content: json(taskAccepted, { accepted: examples.accepted }),
      links: linksToTask('$response.body#/task_id'),
    },
  },
  errors: [...jsonBodyErrors, ...acceptErrors],
}

/** The lookup of a task under both paths. The documentation of the API contract uses `/v1/tasks/…` most. */
export const taskLookups: readonly Operation[] = [
  lookup('/v1/tasks/{task_id}', 'getTask', 'Read the record of a task'),
  lookup('/v1/task/{task_id}', 'getTaskByOtherPath', 'Read the record of a task (other path)'),
]

/** The native response of a task, under both paths. */
export const taskResults: readonly Operation[] = [
  result('/v1/tasks/{task_id}/result', 'getTaskResult', 'Read the native response of a task'),
  result(
    '/v1/task/{task_id}/result',
    'getTaskResultByOtherPath',
    'Read the native response of a task (other path)',
  ),
]

export const getTaskEvents: Operation = {
  method: 'get',
  path: '/v1/tasks/{task_id}/events',
  id: 'getTaskEvents',
  tag: 'Tasks',
  summary: 'Follow a task by server-sent events',
  description:
    'Each event has the name `task`, the record of the task as JSON on one line, and an id: 0 queued, 1 + progress processing, 1000 ended. Events come at once, at every change of the status, and when the progress has grown by 5 or more. Every 15 s there is a comment. The stream ends after the event of the end, and when the API stops. At most 2,500 waiting requests and streams of one account.',
  extension: true,
  access: 'account',
  envelope: 'full',
  request: { path: taskPath, headers: lastEventId },
  answers: {
    200: {
      description: 'The events, until the task has ended.',
      headers: { 'X-Accel-Buffering': 'always' },
      content: {
        'text/event-stream': {
          // Without a type: some tools read the schema as that of the whole stream, others as that of one event.
          schema: { description: 'Events named `task`. `data` is the record of the task as JSON.' },
          examples: {
            'a task that fails': `event: task\nid: 0\ndata: ${JSON.stringify({ ...examples.processing, status: 'queued', progress: 0 })}\n\nevent: task\nid: 1000\ndata: ${JSON.stringify(examples.failed)}\n\n`,
          },
        },
      },
    },
    204: { description: 'The task has ended, and `Last-Event-ID` is the event of its end.' },
  },
  errors: ['malformed_task_id', ...queryErrors, 'task_not_found', 'rate_limit_exceeded'],
}

export const cancelTask: Operation = {
  method: 'post',
  path: '/v1/tasks/{task_id}/cancel',
  id: 'cancelTask',
  tag: 'Tasks',
  summary: 'Cancel a task',
  description:
    'Ends the task as `failed` with the code `cancelled`, at no charge. A cancelled task gets the same answer again. While a call of the upstream model is under way, and after a call that may have done work, the task is not cancelled. Synchronous calls that wait for the task get a 500 with the code `cancelled`, and its Idempotency-Key stays with it.',
  extension: true,
  access: 'account',
  envelope: 'full',
  request: { path: taskPath },
  answers: {
    200: {
      description: 'The record of the cancelled task.',
      headers: { 'X-Credits-Charged': 'always' },
      content: json(taskRecord, { cancelled: examples.cancelled }),
    },
  },
  errors: [
    'malformed_task_id',
    'unknown_parameter',
    ...jsonBodyErrors,
    'task_not_found',
    'task_not_cancellable',
  ],
}

function lookup(path: Operation['path'], id: string, summary: string): Operation {
  return {
    method: 'get',
    path,
    id,
    tag: 'Tasks',
    summary,
    description: 'Only the account that created the task can read it.',
    access: 'account',
    envelope: 'short',
    request: { path: taskPath, headers: preferWait },
    answers: {
      200: {
        description:
          'The record. `Retry-After` is present until the task has ended, `X-Credits-Charged` after it.',
        headers: {
          'Retry-After': 'sometimes',
          'X-Credits-Charged': 'sometimes',
          'Preference-Applied': 'sometimes',
        },
        content: json(taskRecord, {
          processing: examples.processing,
          'succeeded, family B': examples.succeededB,
          'succeeded, family A': examples.succeededA,
          failed: examples.failed,
          expired: examples.expired,
        }),
      },
    },
    errors: ['malformed_task_id', 'task_not_found', 'rate_limit_exceeded'],
  }
}

function result(path: Operation['path'], id: string, summary: string): Operation {
  return {
    method: 'get',
    path,
    id,
    tag: 'Tasks',
    summary,
    description: 'The same body as a synchronous call gets, with the bytes of the image in it.',
    extension: true,
    access: 'account',
    envelope: 'short',
    request: { path: taskPath },
    answers: {
      200: {
        description: 'The native response of the model family.',
        content: json(z.union([imagesResponse, contentResponse]), {
          'family B': examples.imagesResponse,
          'family A': examples.contentResponse,
        }),
      },
    },
    errors: ['malformed_task_id', 'task_not_found', 'task_not_finished', 'task_failed'],
  }
}

export const listTasks: Operation = {
  method: 'get',
  path: '/v1/tasks',
  id: 'listTasks',
  tag: 'Tasks',
  summary: 'List the tasks of the account',
  description:
    'Newest first. To read on, repeat the request with `after` and the last id of the page, until `has_more` is false. Tasks that are created meanwhile do not appear. Records are kept for 8 days by default.',
  extension: true,
  access: 'account',
  envelope: 'full',
  request: { query: taskListQuery },
  answers: {
    200: {
      description: 'The records, without `result`.',
      content: json(taskList, {
        tasks: {
          object: 'list',
          data: [examples.processing, examples.failed, examples.expired],
          has_more: false,
        },
      }),
    },
  },
  errors: [...queryErrors, 'model_not_found'],
}
