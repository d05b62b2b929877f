import Koa from 'koa'
import type { ApiState } from './apiContext.ts'
import type { ApiDeps } from './apiDeps.ts'
import { createByteBudget } from './byteBudget.ts'
import { catchErrors } from './catchErrors.ts'
import { cors } from './cors.ts'
import { installRoutes } from './installRoutes.ts'
import { observeRequest } from './observeRequest.ts'
import { requireHost } from './requireHost.ts'
import { startRequest } from './startRequest.ts'
import { createSyncWaits } from './syncWaits.ts'

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
