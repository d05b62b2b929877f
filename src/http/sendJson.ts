import type { ApiContext } from './apiContext.ts'

/** Koa would add a charset parameter, which `application/json` does not have. */
export function sendJson(context: ApiContext, status: number, value: object): void {
  context.status = status
  context.set('Content-Type', 'application/json')
  context.body = JSON.stringify(value)
}
