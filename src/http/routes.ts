import type Koa from 'koa'
import { authenticate } from './authenticate.ts'
import type { AccountHandler, ApiParts, ApiState, Handler } from './context.ts'
import { engineProgress } from './pages/engine.ts'
import { createPlayground, createReference, createShared } from './pages/pages.ts'
import type { Route } from './route.ts'
import type { ServedRoute } from './router.ts'
import { installServed, page, patternOf } from './router.ts'
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
  const { publicPages } = parts.config
  const shown = publicPages ? routes : routes.filter((route) => route !== apiDocument)
  app.use(decodeColon())
  const all = [
    ...shown.map((each) => served(each, parts)),
    ...(publicPages ? pages(parts.config.engineFile) : []),
  ]
  // `/v1/models/NAME:operation` is no model, and has the methods of the operation alone.
  const modelPattern = patternOf(getModelRoute.path)
  installServed(app, all, (pattern, path) => pattern === modelPattern && path.includes(':'))
}

function served(route: Route, parts: ApiParts): ServedRoute {
  const { method, envelope, path } = route
  const handle =
    route.access === 'open' ? route.handler(parts) : forAccount(parts, route.handler(parts))
  return { method, envelope, pattern: patternOf(path), handle }
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
