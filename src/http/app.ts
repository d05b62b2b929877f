import Koa from 'koa'
import { createSyncWaits } from './answers/syncWaits.ts'
import { keepOpenForRest } from './connection/unreadBody.ts'
import type { ApiDeps, ApiState } from './context.ts'
import { createByteBudget } from './intake/byteBudget.ts'
import { createLoopTurns } from './intake/loopTurns.ts'
import {
  allowAnyOrigin,
  catchErrors,
  observeRequest,
  requireHost,
  startRequest,
} from './middleware.ts'
import { installRoutes } from './routes.ts'

/** About twelve of the largest bodies that the API contract allows. Memory use stays flat: bodies stream. */
const largeBodiesBytesMax = 1024 * 1024 * 1024

/** The whole HTTP API as one Koa application, in the order in which a request passes through it. */
export function createApp(deps: ApiDeps): Koa<ApiState> {
  const parts = {
    ...deps,
    largeBodies: createByteBudget(deps.config.largeBodiesBytesMax ?? largeBodiesBytesMax),
    loopTurns: createLoopTurns(),
    syncWaits: createSyncWaits(deps.tasks),
  }
  const app = new Koa<ApiState>()
  // Koa prints errors to the console unless it is silent; `catchErrors` has reported them already.
  app.silent = true
  app.use(keepOpenForRest())
  app.use(startRequest(deps))
  app.use(observeRequest(deps))
  app.use(allowAnyOrigin())
  app.use(catchErrors(deps))
  app.use(requireHost())
  installRoutes(app, parts)
  return app
}
