import { Router } from '@koa/router'
import type Koa from 'koa'
import { authenticate } from './authenticate.ts'
import type {
  AccountHandler,
  ApiParts,
  ApiState,
  Handler,
  RouteContext,
  HttpFailure,
} from './context.ts'
import { writeFailure } from './errors.ts'
import { cancelTask } from './routes/cancelTask.ts'
import { allowedMethods } from './middleware.ts'
import { createPlayground } from './pages/playground.ts'
import { createReference } from './pages/reference.ts'
import { editImage } from './routes/editImage.ts'
import { asyncGenerateContent, generateContent } from './routes/generateContent.ts'
import { generateImage } from './routes/generateImage.ts'
import { getApiDocument } from './routes/getApiDocument.ts'
import { getAccount } from './routes/getAccount.ts'
import { getAsset } from './routes/getAsset.ts'
import { getModel, listModels } from './routes/getModels.ts'
import { getTask } from './routes/getTask.ts'
import { getTaskEvents } from './routes/getTaskEvents.ts'
import { getTaskResult } from './routes/getTaskResult.ts'
import { getHealth, getReadiness } from './routes/health.ts'
import { getUsage } from './routes/getUsage.ts'
import { listTasks } from './routes/listTasks.ts'
import { submitTask } from './routes/submitTask.ts'
import { listDeliveries, redeliver, testWebhook } from './routes/webhookDeliveries.ts'
import {
  deleteWebhook,
  enableWebhook,
  getWebhook,
  listWebhooks,
  registerWebhook,
  rotateWebhookSecret,
} from './routes/webhooks.ts'

/** Adds every route to the application, and then the answers to requests that match no route. */
export function installRoutes(app: Koa<ApiState>, parts: ApiParts): void {
  const router = new Router<ApiState>({ sensitive: true, strict: true })
  for (const route of [...routes(parts), ...pages(parts)]) {
    router.register(route.path, [route.method], async (context) => {
      context.state.route = route.path.replaceAll('\\', '')
      context.state.envelope = route.envelope
      const failure = await handle(parts, route, context)
      if (failure !== undefined) writeFailure(context, failure)
    })
  }
  app.use(decodeColon())
  app.use(router.routes())
  app.use(answerUnmatched(router))
}

/** Google's clients put one of two versions before the same operations. */
const contentPrefixes = ['/v1beta/models', '/v1/models'] as const

const modelPath = '/v1/models/:model'

/** Returns every route of the API. `src/openapi/operations.ts` describes each of them for clients. */
export function routes(parts: ApiParts): readonly Route[] {
  return [
    post('/v1/images/tasks', submitTask(parts)),
    post('/v1/images/generations', generateImage(parts)),
    post('/v1/images/edits', editImage(parts)),
    ...contentPrefixes.flatMap((prefix) => [
      post(`${prefix}/:model\\:generateContent`, generateContent(parts)),
      post(`${prefix}/:model\\:asyncGenerateContent`, asyncGenerateContent(parts)),
    ]),
    lookup('/v1/tasks/:taskId', getTask(parts)),
    lookup('/v1/task/:taskId', getTask(parts)),
    lookup('/v1/tasks/:taskId/result', getTaskResult(parts)),
    lookup('/v1/task/:taskId/result', getTaskResult(parts)),
    get('/v1/tasks/:taskId/events', getTaskEvents(parts)),
    post('/v1/tasks/:taskId/cancel', cancelTask(parts)),
    get('/v1/account', getAccount(parts)),
    get('/v1/models', listModels(parts)),
    get(modelPath, getModel(parts)),
    get('/v1/tasks', listTasks(parts)),
    get('/v1/usage', getUsage(parts)),
    post('/v1/webhooks', registerWebhook(parts)),
    get('/v1/webhooks', listWebhooks(parts)),
    get('/v1/webhooks/:webhookId', getWebhook(parts)),
    remove('/v1/webhooks/:webhookId', deleteWebhook(parts)),
    post('/v1/webhooks/:webhookId/rotate', rotateWebhookSecret(parts)),
    post('/v1/webhooks/:webhookId/test', testWebhook(parts)),
    post('/v1/webhooks/:webhookId/enable', enableWebhook(parts)),
    get('/v1/webhooks/:webhookId/deliveries', listDeliveries(parts)),
    post('/v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver', redeliver(parts)),
    open('/v1/assets/:taskId/:name', getAsset(parts)),
    open('/healthz', getHealth()),
    open('/readyz', getReadiness(parts)),
    ...(parts.config.publicPages ? [open('/openapi.json', getApiDocument(parts))] : []),
  ]
}

/** Returns the routes of the pages that people open in a browser. They are not part of the API. */
function pages(parts: ApiParts): readonly Route[] {
  if (!parts.config.publicPages) return []
  const playground = createPlayground()
  const reference = createReference()
  return [
    open('/', playground.page),
    open('/playground/*path', playground.file),
    open('/docs', reference.page),
    open('/docs/*path', reference.file),
  ]
}

function post(path: string, handle: AccountHandler): Route {
  return { method: 'POST', path, envelope: 'full', access: 'account', handle }
}

/** A GET route of the extensions. */
function get(path: string, handle: AccountHandler): Route {
  return { method: 'GET', path, envelope: 'full', access: 'account', handle }
}

function remove(path: string, handle: AccountHandler): Route {
  return { method: 'DELETE', path, envelope: 'full', access: 'account', handle }
}

function lookup(path: string, handle: AccountHandler): Route {
  return { method: 'GET', path, envelope: 'short', access: 'account', handle }
}

function open(path: string, handle: Handler): Route {
  return { method: 'GET', path, envelope: 'full', access: 'open', handle }
}

/** One route. A GET route also answers HEAD. A route with `open` access needs no API key. */
type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** The path in the notation of path-to-regexp. Logs and metrics name the route by this path. */
  readonly path: string
  readonly envelope: ApiState['envelope']
} & (
  | { readonly access: 'account'; readonly handle: AccountHandler }
  | { readonly access: 'open'; readonly handle: Handler }
)

/** Calls the route. If the route needs an API key, checks the key first, before any of the body is read. */
async function handle(
  parts: ApiParts,
  route: Route,
  context: RouteContext,
): Promise<HttpFailure | undefined> {
  if (route.access === 'open') return route.handle(context)
  const caller = await authenticate(parts, context.req)
  if (!caller.ok) return caller.failure
  context.state.accountId = caller.value.accountId
  return route.handle(context, caller.value)
}

/**
 * Decodes `%3A` in the path, because the router does not. Some clients percent-encode the colon of
 * `{model}:generateContent`.
 */
function decodeColon(): Koa.Middleware<ApiState> {
  return async (context, next) => {
    if (/^\/v1(?:beta)?\/models\/.*%3a/i.test(context.path)) {
      context.path = context.path.replaceAll(/%3a/gi, ':')
    }
    await next()
  }
}

/** Answers a request that matches no route: an unknown path (404), OPTIONS (204), or a wrong method (405). */
function answerUnmatched(router: Router<ApiState>): Koa.Middleware<ApiState> {
  return async (context, next) => {
    const { path: found, route } = router.match(context.path, context.method)
    if (route) return next()
    // `/v1/models/NAME:operation` is no model, and has the methods of the operation alone.
    const path = found.filter(
      ({ path: pattern }) => pattern !== modelPath || !context.path.includes(':'),
    )
    const allow = [...new Set(path.flatMap(({ methods }) => methods)), 'OPTIONS']
    // `OPTIONS *` asks about the whole server (RFC 9110 section 9.3.7).
    const isKnown = path.length > 0 || (context.method === 'OPTIONS' && context.path === '*')
    if (!isKnown) writeFailure(context, { tag: 'not_found' })
    else if (context.method !== 'OPTIONS') {
      writeFailure(context, { tag: 'method_not_allowed', allow })
    } else {
      context.set('Allow', path.length > 0 ? allow.join(', ') : allowedMethods)
      context.status = 204
    }
    return undefined
  }
}
