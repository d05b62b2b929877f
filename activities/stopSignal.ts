import type { Context } from '@temporalio/activity'

/**
 * Aborts when nobody wants a new call begun: the workflow is closed, the activity cancelled, paused,
 * reset or timed out. A worker that shuts down is no such reason: its calls are paid for and finish
 * within the grace time (design section 5).
 */
export function stopSignal(
  context: Pick<Context, 'cancellationSignal' | 'cancellationDetails'>,
): AbortSignal {
  const stop = new AbortController()
  const { cancellationSignal } = context
  const consider = () => {
    if (context.cancellationDetails?.workerShutdown !== true) stop.abort()
  }
  if (cancellationSignal.aborted) consider()
  else cancellationSignal.addEventListener('abort', consider, { once: true })
  return stop.signal
}
