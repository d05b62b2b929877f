import { Router } from '@koa/router'
import type Koa from 'koa'
import { authenticate } from './authenticate.ts'
import type { AccountHandler, ApiParts, ApiState, Handler } from './context.ts'
import { writeFailure } from './errors.ts'
import { allowedMethods } from './middleware.ts'
import { engineProgress } from './pages/engine.ts'
import { createPlayground, createReference, createShared } from './pages/pages.ts'
import type { Route } from './route.ts'
import { cancelTaskRoute } from './routes/cancelTask.ts'
import { editImageRoute } from './routes/editImage.ts'
import { contentRoutes } from './routes/generateContent.ts'
import { generateImageRoute } from './routes/generateImage.ts'
import { getAccountRoute } from './routes/getAccount.ts'
import { apiDocumentRoute } from './routes/getApiDocument.ts'
import { getAssetRoute } from './routes/getAsset.ts'
import { getModelRoute, listModelsRoute } from './routes/getModels.ts'
import { getTaskRoutes } from './routes/getTask.ts'
import { getTaskEventsRoute } from './routes/getTaskEvents.ts'
import { getTaskResultRoutes } from './routes/getTaskResult.ts'
import { getUsageRoute } from './routes/getUsage.ts'
import { getHealthRoute, getReadinessRoute } from './routes/health.ts'
import { listTasksRoute } from './routes/listTasks.ts'
import { submitTaskRoute } from './routes/submitTask.ts'
import { deliveryRoutes } from './routes/webhookDeliveries.ts'
import { webhookRoutes } from './routes/webhooks.ts'

const apiDocument: Route = apiDocumentRoute(() => routes)

/** Every route of the API, in the order in which readers of the OpenAPI document see them within their group. */
export const routes: readonly Route[] = [
  submitTaskRoute,
  ...getTaskRoutes,
  ...getTaskResultRoutes,
  listTasksRoute,
  getTaskEventsRoute,
  cancelTaskRoute,
  getAssetRoute,
  generateImageRoute,
  editImageRoute,
  ...contentRoutes,
  getAccountRoute,
  listModelsRoute,
  getModelRoute,
  getUsageRoute,
  ...webhookRoutes,
  ...deliveryRoutes,
  getHealthRoute,
  getReadinessRoute,
  apiDocument,
]

/** Adds every route to the application, and then the answers to requests that match no route. */
export function installRoutes(app: Koa<ApiState>, parts: ApiParts): void {
  const router = new Router<ApiState>({ sensitive: true, strict: true })
  const { publicPages } = parts.config
  const shown = publicPages ? routes : routes.filter((route) => route !== apiDocument)
  for (const route of [
    ...shown.map((each) => served(each, parts)),
    ...(publicPages ? pages(parts.config.engineFile) : []),
  ]) {
    const { method, pattern, envelope, handle } = route
    router.register(pattern, [method], async (context) => {
      context.state.route = pattern.replaceAll('\\', '')
      context.state.envelope = envelope
      const failure = await handle(context)
      if (failure !== undefined) writeFailure(context, failure)
    })
  }
  app.use(decodeColon())
  app.use(router.routes())
  app.use(answerUnmatched(router))
}

type ServedRoute = Pick<Route, 'method' | 'envelope'> & {
  /** The path in the notation of path-to-regexp. Logs and metrics name the route by it, without backslashes. */
  readonly pattern: string
  readonly handle: Handler
}

function served(route: Route, parts: ApiParts): ServedRoute {
  const { method, envelope, path } = route
  const handle =
    route.access === 'open' ? route.handler(parts) : forAccount(parts, route.handler(parts))
  return { method, envelope, pattern: patternOf(path), handle }
}

/** `/v1/tasks/{task_id}` becomes `/v1/tasks/:taskId`. */
function patternOf(path: string): string {
  return path
    .replaceAll(':', '\\:')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => `:${camelCase(name)}`)
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Checks the API key before the route is called, and so before any of the body is read. */
function forAccount(parts: ApiParts, handle: AccountHandler): Handler {
  return async (context) => {
    const caller = await authenticate(parts, context.req)
    if (!caller.ok) return caller.failure
    context.state.accountId = caller.value.accountId
    return handle(context, caller.value)
  }
}

/** Returns the routes of the pages that people open in a browser. They are not part of the API. */
function pages(engineFile: string): readonly ServedRoute[] {
  const playground = createPlayground()
  const reference = createReference()
  return [
    page('/', playground.page),
    page('/playground/engine', engineProgress(engineFile)),
    page('/playground/*path', playground.file),
    page('/shared/*path', createShared()),
    page('/docs', reference.page),
    page('/docs/*path', reference.file),
  ]
}

function page(pattern: string, handle: Handler): ServedRoute {
  return { method: 'GET', envelope: 'full', pattern, handle }
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
  const modelPattern = patternOf(getModelRoute.path)
  return async (context, next) => {
    const { path: found, route } = router.match(context.path, context.method)
    if (route) return next()
    // `/v1/models/NAME:operation` is no model, and has the methods of the operation alone.
    const path = found.filter(
      ({ path: pattern }) => pattern !== modelPattern || !context.path.includes(':'),
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
