import Koa from 'koa'
import { createClientWaits } from './clientWaits.ts'
import type { ApiDeps } from './apiParts.ts'
import type { ApiState } from './requestState.ts'
import { freeBodyBytes } from './intake/body.ts'
import { allowAnyOrigin, catchErrors, observeRequest, startRequest } from './middleware.ts'
import { installRoutes } from './routes.ts'
import { createByteBudget } from '../bytes/byteBudget.ts'

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
  installRoutes(app, {
    ...deps,
    largeBodies: createByteBudget({
      bytesMax: deps.config.largeBodiesBytesMax ?? largeBodiesBytesMax,
      freeBytes: freeBodyBytes,
    }),
    waits: createClientWaits(deps.tasks, {
      stopping: deps.stopping,
      syncDeadlineMs: deps.config.syncDeadlineMs,
      max: deps.config.waitersMax,
    }),
  })
  return app
}
