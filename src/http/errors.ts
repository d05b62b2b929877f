import type { ApiContext } from './apiContext.ts'
import type { Description } from './describeFailure.ts'
import { describeFailure } from './describeFailure.ts'
import type { HttpFailure } from './httpFailure.ts'
import { keepOpenForRest } from './lingering.ts'
import { sendJson } from './sendJson.ts'

/** A path is the client's own text: echoed shortened, and never its query, which may carry secrets. */
const pathLengthMax = 200

/** The only writer of error answers, in both envelopes (spec, Error envelope and GET task lookup). */
export function writeFailure(context: ApiContext, failure: HttpFailure): void {
  const { requestId, envelope, retryMayRepeatWork } = context.state
  const description = describeFailure(failure, requestLine(context))
  for (const [name, value] of Object.entries(description.headers ?? {})) context.set(name, value)
  if (description.status >= 500 && retryMayRepeatWork === true) {
    context.set('x-should-retry', 'false')
  }
  context.set('Cache-Control', 'no-store')
  keepOpenForRest(context.req, context.res)
  sendJson(context, description.status, errorBody(description, envelope, requestId))
}

/** An address such as `http://` has no path at all, whatever Koa's types say. */
function requestLine({ method, path }: { method: string; path: string | null }): string {
  return `${method} ${(path ?? '').slice(0, pathLengthMax)}`
}

/** The body alone, for answers to requests that never became one (`createServer.ts`). */
export function errorBody(
  description: Description,
  envelope: 'full' | 'short',
  requestId: string,
): object {
  const { status, type, code, param } = description
  const message =
    status >= 500 ? `${description.message} (request id: ${requestId})` : description.message
  return envelope === 'short'
    ? { error: { code, message } }
    : { error: { message, type, param, code } }
}
