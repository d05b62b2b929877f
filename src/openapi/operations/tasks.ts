import { z } from 'zod'
import { acceptErrors, jsonBodyErrors } from '../errorAnswers.ts'
import { examples } from '../examples.ts'
import { idempotencyKey } from '../parameters.ts'
import type { Operation } from '../operation.ts'
import { json } from '../operation.ts'
import { contentResponse } from '../../schema/answers/contentResponse.ts'
import { imagesResponse } from '../../schema/answers/imagesResponse.ts'
import { taskAccepted, taskId, taskRecord } from '../../schema/answers/taskRecord.ts'
import { taskRequest } from '../../schema/taskRequest.ts'

const taskPath = z.object({ task_id: taskId })

/** `POST /v1/images/tasks`. */
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
      headers: { Location: 'always', 'Retry-After': 'always', 'Idempotent-Replayed': 'sometimes' },
      content: json(taskAccepted, { accepted: examples.accepted }),
    },
  },
  errors: [...jsonBodyErrors, ...acceptErrors],
}

/** The lookup of a task, under the path that the documentation of the contract uses most, and under its other form. */
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
    request: { path: taskPath },
    answers: {
      200: {
        description: 'The record. `Retry-After` is present until the task has ended.',
        headers: { 'Retry-After': 'sometimes' },
        content: json(taskRecord, {
          processing: examples.processing,
          'succeeded, family B': examples.succeededB,
          'succeeded, family A': examples.succeededA,
          failed: examples.failed,
          expired: examples.expired,
        }),
      },
    },
    errors: ['malformed_task_id', 'task_not_found'],
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
