import type { Middleware } from 'koa'
import { BodyError } from '../../streams/bodyError.ts'
import type { ApiDeps, ApiState } from '../context.ts'
import { writeFailure } from '../errors.ts'

/** What is thrown is a bug or an outage: reported with all it says, answered with nothing of it. */
export function catchErrors(deps: ApiDeps): Middleware<ApiState> {
  return async (context, next) => {
    try {
      await next()
    } catch (error) {
      const { requestId, route } = context.state
      if (!isClientGone(error)) deps.reportError?.(error, { requestId, route })
      if (!context.headerSent) writeFailure(context, { tag: 'internal_error' })
    }
  }
}

function isClientGone(error: unknown): boolean {
  return error instanceof BodyError && error.failure.tag === 'interrupted'
}
