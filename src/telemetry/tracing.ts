import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { defined } from '../domain/defined.ts'
import type { TaskTracer, TracedActivity } from '../domain/ports/taskTracer.ts'
import type { OutcomeClass, UpstreamCall, UpstreamCaller } from '../domain/upstreamCall.ts'
import type { Spans } from './spans.ts'
import { createSpans } from './spans.ts'

export type Tracing = TaskTracer & {
  /** Sends what is left, within seconds. */
  readonly close: () => Promise<void>
}

/**
 * One trace per task (design section 3, OTEL_EXPORTER_OTLP_ENDPOINT): the request, the run of the
 * workflow, its activities, the upstream calls. Loaded only when traces are wanted.
 */
export function createTracing(process: 'api' | 'worker'): Tracing {
  const spans = createSpans(`darkroom-${process}`)
  /** The span of the activity that this code runs in. */
  const within = new AsyncLocalStorage<string>()
  return {
    request: (seen) => traceRequest(spans, seen),
    activity: (about, work) => traceActivity(spans, within, about, work),
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
    upstream: (caller) => traceUpstream(spans, within, caller),
    close: spans.close,
  }
}

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

async function traceActivity<Value>(
  spans: Spans,
  within: AsyncLocalStorage<string>,
  about: TracedActivity,
  work: () => Promise<Value>,
): Promise<Value> {
  const { taskId, runId, activity, attempt } = about
  const span = spans.start({
    name: `activity ${activity}`,
    kind: 'internal',
    traceId: traceIdOf(taskId),
    parentId: runSpanIdOf(runId),
    attributes: { 'darkroom.task_id': taskId, 'darkroom.attempt': attempt },
  })
  try {
    const value = await within.run(span.spanId, work)
    span.end({ attributes: { 'darkroom.class': outcomeOf(value) }, failed: false })
    return value
  } catch (error) {
    const { name, expected } = failureClass(error)
    span.end({ attributes: { 'darkroom.class': name }, failed: !expected })
    throw error
  }
}

/** Outcomes in which something is wrong at the other end; a refusal is good manners on both sides. */
const badClasses: ReadonlySet<OutcomeClass> = new Set(['unknown', 'operator_fault', 'exhausted'])

function traceUpstream(
  spans: Spans,
  within: AsyncLocalStorage<string>,
  caller: UpstreamCaller,
): UpstreamCaller {
  return async (call) => {
    const { taskId } = call.origin
    const span = spans.start({
      name: 'upstream call',
      kind: 'client',
      traceId: traceIdOf(taskId),
      parentId: within.getStore() ?? requestSpanIdOf(taskId),
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

function callAttributes({ origin, channel, request }: UpstreamCall) {
  return {
    'darkroom.task_id': origin.taskId,
    'darkroom.attempt': origin.attempt,
    'darkroom.channel': channel.name,
    'darkroom.model': request.model,
  }
}

/**
 * How an activity ended, as one word for its span. Activities answer and throw only our own small
 * enumerations (`activities/`); anything else is named by its kind, never by what it says.
 */
export function outcomeOf(value: unknown): string {
  if (typeof value === 'string' && isWord(value)) return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'object' || value === null || !('outcome' in value)) return 'done'
  return typeof value.outcome === 'string' && isWord(value.outcome) ? value.outcome : 'done'
}

/** The type of an `ApplicationFailure`. `expected`: a wait or the end of a task, no fault of ours. */
export function failureClass(error: unknown): {
  readonly name: string
  readonly expected: boolean
} {
  const type = error instanceof Error && 'type' in error ? error.type : undefined
  const name = typeof type === 'string' && isWord(type) ? type : 'Error'
  const category = error instanceof Error && 'category' in error ? error.category : undefined
  return { name, expected: category === 'BENIGN' }
}

function isWord(text: string): boolean {
  return /^[A-Za-z_]{1,40}$/.test(text)
}

/**
 * The ids of a task's trace follow from ids that every process has already: so request, workflow,
 * retries, resets and the reconciler meet in one trace, and nothing is carried along or stored for it.
 * Lower-case hex, 16 and 8 bytes, as W3C Trace Context has them.
 */
export function traceIdOf(taskId: string): string {
  return digest(`trace ${taskId}`).slice(0, 32)
}

/** The span of the request that made the task: the root of its trace. */
export function requestSpanIdOf(taskId: string): string {
  return digest(`request ${taskId}`).slice(0, 16)
}

/** The span of one run of its workflow. */
export function runSpanIdOf(runId: string): string {
  return digest(`run ${runId}`).slice(0, 16)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
