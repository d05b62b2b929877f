import Koa from 'koa'
import { createSyncWaits } from './answers/answerSync.ts'
import type { ApiDeps, ApiState } from './context.ts'
import { createByteBudget } from './intake/byteBudget.ts'
import { catchErrors } from './middleware/catchErrors.ts'
import { cors } from './middleware/cors.ts'
import { observeRequest, startRequest } from './middleware/observeRequest.ts'
import { requireHost } from './middleware/requireHost.ts'
import { installRoutes } from './routes.ts'

/** Some twelve of the largest bodies of the contract at once; each streams in flat memory. */
const largeBodiesBytesMax = 1024 * 1024 * 1024

/** The whole HTTP face of Darkroom, in the order a request passes through it. */
export function createApp(deps: ApiDeps): Koa<ApiState> {
  const parts = {
    ...deps,
    largeBodies: createByteBudget(deps.config.largeBodiesBytesMax ?? largeBodiesBytesMax),
    syncWaits: createSyncWaits(deps.tasks),
  }
  const app = new Koa<ApiState>()
  // Koa itself would print errors; every one of ours has been reported by then.
  app.silent = true
  app.use(startRequest(deps))
  app.use(observeRequest(deps))
  app.use(cors())
  app.use(catchErrors(deps))
  app.use(requireHost())
  installRoutes(app, parts)
  return app
}
