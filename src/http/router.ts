import { Router } from '@koa/router'
import type Koa from 'koa'
import type { ApiState } from './requestState.ts'
import type { Handler, Route } from './route.ts'
import { writeFailure } from './errors.ts'

/** A route as the router needs it. */
export type ServedRoute = Pick<Route, 'method' | 'envelope'> & {
  /** The path in the notation of path-to-regexp. Logs and metrics name the route by it, without backslashes. */
  readonly pattern: string
  readonly handle: Handler
}

/** Adds routes to an application, and then the answers to requests that match none. */
export function installServed(app: Koa<ApiState>, routes: readonly ServedRoute[]): void {
  const operations = operationsOf(routes)
  const router = new Router<ApiState>({ sensitive: true, strict: true })
  for (const { method, pattern, envelope, handle } of routes) {
    router.register(pattern, [method], async (context, next) => {
      if (operations.isOperation(context.path, pattern)) return next()
      context.state.route = pattern.replaceAll('\\', '')
      context.state.envelope = envelope ?? 'full'
      const failure = await handle(context)
      if (failure !== undefined) writeFailure(context, failure)
      return undefined
    })
  }
  app.use(operations.decodeColon)
  app.use(router.routes())
  app.use(answerUnmatched(router, operations))
}

type Operations = ReturnType<typeof operationsOf>

/**
 * Returns what the router must know of operations that stand after a colon, such as `/v1/models/NAME:generateContent`.
 * Some clients percent-encode the colon, and the router does not decode it. And such a path does not mean the resource
 * before the colon, although it has that pattern too: it has the methods of the operation alone.
 */
function operationsOf(routes: readonly ServedRoute[]) {
  const withColon = routes.filter(({ pattern }) => pattern.includes('\\:'))
  const resources = withColon.map(({ pattern }) => pattern.slice(0, pattern.indexOf('\\:')))
  const prefixes = resources.map((pattern) => pattern.slice(0, pattern.lastIndexOf('/') + 1))

  const decodeColon: Koa.Middleware<ApiState> = async (context, next) => {
    const { path } = context
    if (/%3a/i.test(path) && prefixes.some((prefix) => path.startsWith(prefix))) {
      context.path = path.replaceAll(/%3a/gi, ':')
    }
    await next()
  }

  /** Returns whether a path with this pattern means an operation of the resource that has the pattern. */
  function isOperation(path: string, pattern: string): boolean {
    return path.includes(':') && resources.includes(pattern)
  }

  return { decodeColon, isOperation }
}

/** Returns a route as the router needs it. */
export function served<Parts>(route: Route<Parts>, parts: Parts): ServedRoute {
  return { ...route, pattern: patternOf(route.path), handle: route.handler(parts) }
}

/** `/v1/tasks/{task_id}` becomes `/v1/tasks/:taskId`. */
function patternOf(path: string): string {
  return path
    .replaceAll(':', '\\:')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => `:${camelCase(name)}`)
}

/** `task_id` becomes `taskId`. */
export function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Returns the route of a page that people open in a browser, or of a file that it loads. */
export function page(pattern: string, handle: Handler): ServedRoute {
  return { method: 'GET', pattern, handle }
}

/** Answers a request that matches no route: an unknown path (404), OPTIONS (204), or a wrong method (405). */
function answerUnmatched(
  router: Router<ApiState>,
  { isOperation }: Operations,
): Koa.Middleware<ApiState> {
  return async (context) => {
    const { path: found } = router.match(context.path, context.method)
    const path = found.filter(({ path: pattern }) => !isOperation(context.path, String(pattern)))
    const allow = [...new Set(path.flatMap(({ methods }) => methods)), 'OPTIONS']
    if (path.length === 0) writeFailure(context, { tag: 'not_found' })
    else if (context.method !== 'OPTIONS') {
      writeFailure(context, { tag: 'method_not_allowed', allow })
    } else {
      context.set('Allow', allow.join(', '))
      context.status = 204
    }
    return undefined
  }
}
