import Koa from 'koa'
import { createSyncWaits } from './answers/syncWaits.ts'
import { createWaitPlaces } from './answers/waitPlaces.ts'
import type { ApiDeps, ApiParts, ApiState } from './context.ts'
import { freeBodyBytes } from './intake/body.ts'
import { allowAnyOrigin, catchErrors, observeRequest, startRequest } from './middleware.ts'
import { installRoutes } from './routes.ts'
import { createByteBudget } from '../streams/byteBudget.ts'

/**
 * Limit for the bytes of all large bodies in memory: almost three of the largest that the API contract allows, and many
 * ordinary ones.
 */
const largeBodiesBytesMax = 256 * 1024 * 1024

/**
 * Creates the whole HTTP API as one Koa application. A request passes through the middleware in the order of the
 * `use` calls, and then reaches its route.
 */
export function createApp(deps: ApiDeps): Koa<ApiState> {
  const app = new Koa<ApiState>()
  // `catchErrors` has already reported every error. Without `silent`, Koa would also print it to the console.
  app.silent = true
  app.use(startRequest())
  app.use(observeRequest(deps))
  app.use(allowAnyOrigin())
  app.use(catchErrors(deps))
  installRoutes(app, createParts(deps))
  return app
}

/** Adds to the dependencies what one API process keeps across requests. */
export function createParts(deps: ApiDeps): ApiParts {
  return {
    ...deps,
    largeBodies: createByteBudget({
      bytesMax: deps.config.largeBodiesBytesMax ?? largeBodiesBytesMax,
      freeBytes: freeBodyBytes,
    }),
    syncWaits: createSyncWaits(deps.tasks),
    waitPlaces: createWaitPlaces(deps.stopping, deps.config.waitersMax),
  }
}
