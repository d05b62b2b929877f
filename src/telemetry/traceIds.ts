import { createHash } from 'node:crypto'

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
