import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { defined } from '../domain/defined.ts'
import type { TaskTracer } from '../domain/ports/taskTracer.ts'
import type { OutcomeClass, UpstreamCall, UpstreamCaller } from '../domain/upstream/upstreamCall.ts'
import type { OpenSpan, Spans } from './spans.ts'
import { createSpans } from './spans.ts'

export type Tracing = TaskTracer & {
  /** Sends the remaining spans. Takes a few seconds at most. */
  readonly close: () => Promise<void>
}

/**
 * Exports one trace per task. The trace contains the request, the run of the workflow, its activities and its
 * upstream calls. This file loads the OpenTelemetry libraries, so import it only when a collector is
 * configured.
 */
export function createTracing(process: 'api' | 'worker'): Tracing {
  const spans = createSpans(`darkroom-${process}`)
  const activitySpan: ActivitySpan = new AsyncLocalStorage()
  return {
    request: (seen) => traceRequest(spans, seen),
    activity: (about, work) => {
      const { taskId, runId, activity, attempt } = about
      return traceWork(
        activitySpan,
        spans.start({
          name: `activity ${activity}`,
          kind: 'internal',
          traceId: traceIdOf(taskId),
          parentId: runSpanIdOf(runId),
          attributes: { 'darkroom.task_id': taskId, 'darkroom.attempt': attempt },
        }),
        work,
      )
    },
    offer: (taskId, work) =>
      traceWork(
        activitySpan,
        spans.start({
          name: 'offer produceImage',
          kind: 'internal',
          traceId: traceIdOf(taskId),
          parentId: requestSpanIdOf(taskId),
          attributes: { 'darkroom.task_id': taskId },
        }),
        work,
      ),
    runEnded: ({ taskId, runId, startedAtMs, endedAtMs, outcome }) =>
      spans
        .start({
          name: 'workflow imageTask',
          kind: 'internal',
          traceId: traceIdOf(taskId),
          spanId: runSpanIdOf(runId),
          parentId: requestSpanIdOf(taskId),
          startedAtMs,
          attributes: { 'darkroom.task_id': taskId, 'darkroom.class': outcome },
        })
        .end({ failed: !goodOutcomes.has(outcome), endedAtMs }),
    upstream: (caller) => traceUpstream(spans, activitySpan, caller),
    close: spans.close,
  }
}

/** Contains the id of the span of the activity or offer in which the current code is running. */
type ActivitySpan = AsyncLocalStorage<string>

/** Outcomes of a run that are not a failure. `over` means that the task had already ended in another way. */
const goodOutcomes: ReadonlySet<string> = new Set(['succeeded', 'over', 'cancelled'])

function traceRequest(spans: Spans, seen: Parameters<TaskTracer['request']>[0]): void {
  const { taskId, accountId, route, method, status, durationMs, replayed } = seen
  const rootId = requestSpanIdOf(taskId)
  spans
    .start({
      name: `${method} ${route}`,
      kind: 'server',
      traceId: traceIdOf(taskId),
      ...(replayed ? { parentId: rootId } : { spanId: rootId }),
      startedAtMs: Date.now() - durationMs,
      attributes: {
        'darkroom.task_id': taskId,
        ...defined({ 'darkroom.account_id': accountId }),
        'http.route': route,
        'http.request.method': method,
        'http.response.status_code': status,
      },
    })
    .end({ failed: status >= 500 })
}

/** Runs the work on a task in a span. The spans of upstream calls inside become its children. */
async function traceWork<Value>(
  activitySpan: ActivitySpan,
  span: OpenSpan,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    const value = await activitySpan.run(span.spanId, work)
    span.end({ attributes: { 'darkroom.class': activityResultName(value) }, failed: false })
    return value
  } catch (error) {
    const { name, expected } = activityErrorName(error)
    span.end({ attributes: { 'darkroom.class': name }, failed: !expected })
    throw error
  }
}

/**
 * Outcomes of a call whose span is marked as failed. `refused` is not among them, because an upstream's
 * refusal is normal: the task waits and calls again.
 */
const badClasses: ReadonlySet<OutcomeClass> = new Set(['unknown', 'operator_fault', 'exhausted'])

function traceUpstream(
  spans: Spans,
  activitySpan: ActivitySpan,
  caller: UpstreamCaller,
): UpstreamCaller {
  return async (call) => {
    const { taskId } = call.origin
    const span = spans.start({
      name: 'upstream call',
      kind: 'client',
      traceId: traceIdOf(taskId),
      parentId: activitySpan.getStore() ?? requestSpanIdOf(taskId),
      attributes: callAttributes(call),
    })
    try {
      const outcome = await caller(call)
      const { reason, httpStatus } = outcome.evidence
      const attributes = {
        'darkroom.class': outcome.class,
        'darkroom.reason': reason,
        ...defined({ 'http.response.status_code': httpStatus }),
      }
      span.end({ attributes, failed: badClasses.has(outcome.class) })
      return outcome
    } catch (error) {
      span.end({ failed: true })
      throw error
    }
  }
}

function callAttributes({ origin, channel, model }: UpstreamCall) {
  return {
    'darkroom.task_id': origin.taskId,
    'darkroom.attempt': origin.attempt,
    'darkroom.channel': channel.name,
    'darkroom.model': model,
  }
}

/**
 * Returns how an activity ended, as one name for its span. Activities return a name from a small set. Any
 * other value becomes `done`, because a span must not contain text of a client or of an upstream.
 */
function activityResultName(value: unknown): string {
  if (typeof value === 'string' && isName(value)) return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'object' || value === null || !('outcome' in value)) return 'done'
  return typeof value.outcome === 'string' && isName(value.outcome) ? value.outcome : 'done'
}

/**
 * Returns the type of an `ApplicationFailure`, or `Error` for any other error. `expected` is true when nothing is
 * broken: the activity only waits, or the task ends.
 */
function activityErrorName(error: unknown): {
  readonly name: string
  readonly expected: boolean
} {
  const type = error instanceof Error && 'type' in error ? error.type : undefined
  const name = typeof type === 'string' && isName(type) ? type : 'Error'
  const category = error instanceof Error && 'category' in error ? error.category : undefined
  return { name, expected: category === 'BENIGN' }
}

function isName(text: string): boolean {
  return /^[A-Za-z_]{1,40}$/.test(text)
}

/**
 * Returns the id of a task's trace, computed from the task's id. Every process can compute it, so no trace id
 * is passed on or stored. Request, workflow, retries, resets and the reconciler all use the same trace. Trace
 * ids are 16 bytes and span ids are 8 bytes, in lower-case hex (W3C Trace Context).
 */
export function traceIdOf(taskId: string): string {
  return digest(`trace ${taskId}`).slice(0, 32)
}

/** Returns the id of the span of the request that created the task. This span is the root of the trace. */
function requestSpanIdOf(taskId: string): string {
  return digest(`request ${taskId}`).slice(0, 16)
}

/** Returns the id of the span of one run of the task's workflow. */
function runSpanIdOf(runId: string): string {
  return digest(`run ${runId}`).slice(0, 16)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
