import type Koa from 'koa'
import type { ApiParts } from './apiParts.ts'
import type { ApiState } from './requestState.ts'
import { guideHtml } from './pages/guide.ts'
import { createPage, createShared, engineProgress } from './pages/pages.ts'
import type { Route, RouteGroup } from './route.ts'
import type { ServedRoute } from './router.ts'
import { installServed, page, served } from './router.ts'
import { cancelTaskRoute } from './routes/postCancel.ts'
import { deleteTaskRoute } from './routes/deleteTask.ts'
import { estimateRoute } from './routes/estimate.ts'
import { contentRoutes } from './routes/generateContent.ts'
import { getAccountRoute } from './routes/getAccount.ts'
import { apiDocumentRoute } from './routes/getApiDocument.ts'
import { getAsset, getAssetRoute } from './routes/getAsset.ts'
import { getModelRoute, listModelsRoute } from './routes/getModels.ts'
import { getTaskRoutes } from './routes/getTask.ts'
import { getTaskEventsRoute } from './routes/getTaskEvents.ts'
import { getUsageRoute } from './routes/getUsage.ts'
import { getHealthRoute, getReadinessRoute } from './routes/health.ts'
import { listTasksRoute } from './routes/getTasks.ts'
import { submitTaskRoute } from './routes/submitTask.ts'
import { editImageRoute, generateImageRoute } from './routes/syncImages.ts'
import { webhookRoutes } from './routes/webhookRoutes.ts'

const apiDocument = apiDocumentRoute(() => routeGroups)

/** Every route of the API, in the order in which readers of the OpenAPI document see them. */
export const routeGroups: readonly RouteGroup<ApiParts>[] = [
  {
    name: 'Tasks',
    about: 'Submit a task, and read its record until it ends.',
    routes: [
      submitTaskRoute,
      estimateRoute,
      ...getTaskRoutes,
      listTasksRoute,
      getTaskEventsRoute,
      cancelTaskRoute,
      deleteTaskRoute,
      getAssetRoute,
    ],
  },
  {
    name: 'Synchronous images',
    about: 'Calls that answer with the finished image. Family B.',
    routes: [generateImageRoute, editImageRoute],
  },
  {
    name: 'Content generation',
    about: 'Calls in the form of `generateContent`. Family A.',
    routes: contentRoutes,
  },
  {
    name: 'Account',
    about: 'What the caller owns, may use and has spent.',
    routes: [getAccountRoute, listModelsRoute, getModelRoute, getUsageRoute],
  },
  {
    name: 'Webhooks',
    about: 'Signed notifications when tasks end.',
    routes: webhookRoutes,
  },
  {
    name: 'Service',
    about: 'Health, and this description.',
    routes: [getHealthRoute, getReadinessRoute, apiDocument],
  },
]

export const routes: readonly Route<ApiParts>[] = routeGroups.flatMap(({ routes }) => routes)

/** Adds every route to the application, and then the answers to requests that match no route. */
export function installRoutes(app: Koa<ApiState>, parts: ApiParts): void {
  const { publicPages } = parts.config
  const shown = publicPages ? routes : routes.filter((route) => route !== apiDocument)
  installServed(app, [
    ...shown.map((route) => served(route, parts)),
    ...(publicPages ? pages(parts) : []),
  ])
}

/** Where the playground asks what `npm start` still builds. */
const enginePath = 'playground/engine'

/** Returns the routes of the pages that people open in a browser. They are not part of the API. */
function pages(parts: ApiParts): readonly ServedRoute[] {
  const { engineFile } = parts.config
  const engine = engineFile === undefined ? '' : `<meta name="engine" content="${enginePath}" />`
  const playground = createPage('playground', { engine })
  const reference = createPage('docs', { guide: guideHtml() })
  // The page reads images from here also with ASSET_REDIRECT: it may load from no other origin, and no script may read
  // from a bucket whose owner does not allow it.
  const direct = { ...parts, config: { ...parts.config, assetRedirect: false } }
  return [
    page('/', playground.page),
    ...(engineFile === undefined ? [] : [page(`/${enginePath}`, engineProgress(engineFile))]),
    page('/playground/assets/:taskId/:name', getAsset(direct)),
    page('/playground/*path', playground.file),
    page('/shared/*path', createShared()),
    page('/docs', reference.page),
    page('/docs/*path', reference.file),
  ]
}
