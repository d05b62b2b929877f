import type { AccountHandler, ApiState, Handler } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { asyncGenerateContent, generateContent } from './generateContent.ts'
import { editImage } from './editImage.ts'
import { generateImage } from './generateImage.ts'
import { getAsset } from './getAsset.ts'
import { getHealth, getReadiness } from './health.ts'
import { getTask } from './getTask.ts'
import { getTaskResult } from './getTaskResult.ts'
import { submitTask } from './submitTask.ts'

/** HEAD comes with every GET. `open` routes are the ones that ask for no key. */
export type Route = {
  readonly method: 'GET' | 'POST'
  /** In path-to-regexp's notation; also the pattern in logs and metrics. */
  readonly path: string
  readonly envelope: ApiState['envelope']
} & (
  | { readonly access: 'account'; readonly handle: AccountHandler }
  | { readonly access: 'open'; readonly handle: Handler }
)

/** Every route of the service (spec, Endpoints; design section 4). */
export function routes(parts: ApiParts): readonly Route[] {
  return [
    post('/v1/images/tasks', submitTask(parts)),
    post('/v1/images/generations', generateImage(parts)),
    post('/v1/images/edits', editImage(parts)),
    post('/v1beta/models/:model\\:generateContent', generateContent(parts)),
    post('/v1beta/models/:model\\:asyncGenerateContent', asyncGenerateContent(parts)),
    lookup('/v1/tasks/:taskId', getTask(parts)),
    lookup('/v1/task/:taskId', getTask(parts)),
    lookup('/v1/tasks/:taskId/result', getTaskResult(parts)),
    lookup('/v1/task/:taskId/result', getTaskResult(parts)),
    open('/v1/assets/:taskId/:name', getAsset(parts)),
    open('/healthz', getHealth),
    open('/readyz', getReadiness(parts)),
  ]
}

function post(path: string, handle: AccountHandler): Route {
  return { method: 'POST', path, envelope: 'full', access: 'account', handle }
}

function lookup(path: string, handle: AccountHandler): Route {
  return { method: 'GET', path, envelope: 'short', access: 'account', handle }
}

function open(path: string, handle: Handler): Route {
  return { method: 'GET', path, envelope: 'full', access: 'open', handle }
}
