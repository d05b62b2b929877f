import { Router } from '@koa/router'
import type Koa from 'koa'
import type { ApiState, RouteContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { authenticate } from './authenticate.ts'
import { writeFailure } from './errors.ts'
import type { HttpFailure } from './httpFailure.ts'
import type { Route } from './routes.ts'
import { routes } from './routes.ts'

/** Every route behind its authentication, and what answers when none fits. */
export function installRoutes(app: Koa<ApiState>, parts: ApiParts): void {
  const router = new Router<ApiState>({ sensitive: true, strict: true })
  for (const route of routes(parts)) {
    router.register(route.path, [route.method], async (context) => {
      context.state.route = route.path.replaceAll('\\', '')
      context.state.envelope = route.envelope
      const failure = await handle(parts, route, context)
      if (failure !== undefined) writeFailure(context, failure)
    })
  }
  app.use(plainColon)
  app.use(router.routes())
  app.use(noRoute(router))
}

/** Clients that encode a path segment as a whole write the colon of v1beta's methods as `%3A`. */
const plainColon: Koa.Middleware<ApiState> = (context, next) => {
  if (/^\/v1beta\/.*%3a/i.test(context.path)) {
    context.path = context.path.replaceAll(/%3a/gi, ':')
  }
  return next()
}

/** The key is checked before a byte of the body is read. */
async function handle(
  parts: ApiParts,
  route: Route,
  context: RouteContext,
): Promise<HttpFailure | undefined> {
  if (route.access === 'open') return route.handle(context)
  const caller = await authenticate(parts, context.req)
  if (!caller.ok) return caller.failure
  context.state.accountId = caller.value.accountId
  return route.handle(context, caller.value)
}

function noRoute(router: Router<ApiState>): Koa.Middleware<ApiState> {
  return async (context, next) => {
    const { path, route } = router.match(context.path, context.method)
    if (route) return next()
    const allow = [...new Set(path.flatMap(({ methods }) => methods)), 'OPTIONS']
    if (context.method === 'OPTIONS') {
      context.set('Allow', path.length > 0 ? allow.join(', ') : 'GET, HEAD, POST, OPTIONS')
      context.status = 204
      return undefined
    }
    writeFailure(
      context,
      path.length > 0 ? { tag: 'method_not_allowed', allow } : { tag: 'not_found' },
    )
    return undefined
  }
}
