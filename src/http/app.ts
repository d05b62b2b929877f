import Koa from 'koa'
import { createSyncWaits } from './answers/syncWaits.ts'
import { createWaitPlaces } from './answers/waitPlaces.ts'
import type { ApiDeps, ApiParts, ApiState } from './context.ts'
import { requestTextBytesMax } from '../domain/limits.ts'
import { createByteBudget } from '../tasks/byteBudget.ts'
import { createLoopTurns } from './intake/loopTurns.ts'
import { allowAnyOrigin, catchErrors, observeRequest, startRequest } from './middleware.ts'
import { installRoutes } from './routes.ts'

/**
 * Limit for the bytes of all large bodies that arrive at the same time: about twelve of the largest bodies
 * that the API contract allows. It protects the disk and the network, not the memory, because bodies are
 * streamed.
 */
const largeBodiesBytesMax = 1024 * 1024 * 1024

/**
 * Limit for the texts of all large requests that are received and accepted at the same time, in bytes of their
 * stored text. Until a request is accepted, it takes about five times as much memory as its texts have bytes. One
 * account gets at most half, so that it leaves room for the largest request of another account.
 */
const requestTextsBytesMax = 2 * requestTextBytesMax
const requestTextsShareMax = 0.5

/**
 * Creates the whole HTTP API as one Koa application. A request passes through the middleware in the order of the
 * `use` calls, and then reaches its route.
 */
export function createApp(deps: ApiDeps): Koa<ApiState> {
  const app = new Koa<ApiState>()
  // `catchErrors` has already reported every error. Without `silent`, Koa would also print it to the console.
  app.silent = true
  app.use(startRequest(deps))
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
    largeBodies: createByteBudget(deps.config.largeBodiesBytesMax ?? largeBodiesBytesMax),
    requestTexts: createByteBudget(requestTextsBytesMax, requestTextsShareMax),
    loopTurns: createLoopTurns(),
    syncWaits: createSyncWaits(deps.tasks),
    waitPlaces: createWaitPlaces(deps.stopping, deps.config.waitersMax),
  }
}
