import Koa from 'koa'
import { createAuthorize } from './authorize.ts'
import type { AdminDeps, AdminParts } from './adminParts.ts'
import { adminRoutes } from './operatorRoutes.ts'
import type { ApiState } from '../http/requestState.ts'
import { writeFailure } from '../http/errors.ts'
import { foreignRequest } from '../http/server/foreignRequest.ts'
import { freeBodyBytes } from '../http/intake/body.ts'
import { catchErrors, observeRequest, startRequest } from '../http/middleware.ts'
import { createPage, createShared } from '../http/pages/pages.ts'
import { installServed, page, served } from '../http/router.ts'
import { createByteBudget } from '../bytes/byteBudget.ts'

/** Limit for the bytes of all large bodies in memory. Bodies of this API are small. */
const largeBodiesBytesMax = 1024 * 1024

/** Creates the admin API and its console as one Koa application. */
export function createAdminApp(deps: AdminDeps): Koa<ApiState> {
  const app = new Koa<ApiState>()
  // `catchErrors` has already reported every error. Without `silent`, Koa would also print it to the console.
  app.silent = true
  app.use(startRequest())
  app.use(observeRequest(deps))
  app.use(catchErrors(deps))
  app.use(refuseForeign(deps))
  const parts: AdminParts = {
    ...deps,
    authorize: createAuthorize(deps.keys),
    largeBodies: createByteBudget({ bytesMax: largeBodiesBytesMax, freeBytes: freeBodyBytes }),
  }
  const console = createPage('console')
  installServed(app, [
    ...adminRoutes.map((route) => served(route, parts)),
    page('/', console.page),
    page('/console/*path', console.file),
    page('/shared/*path', createShared()),
  ])
  return app
}

/** Paths that a load balancer asks for by an address. Their answers say the version and no more. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/** Refuses what a page of another origin sends, also through a name that leads here (DNS rebinding). */
function refuseForeign({ host, allowedHosts }: AdminDeps): Koa.Middleware<ApiState> {
  return async (context, next) => {
    const why = foreignRequest(context.req, { listenHost: host, allowedHosts })
    if (why === undefined || probes.has(context.path)) return next()
    return writeFailure(context, {
      tag: 'access_denied',
      message: `Refused: ${why}. ADMIN_ALLOWED_HOSTS lists names that are.`,
    })
  }
}
