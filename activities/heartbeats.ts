import type { Context } from '@temporalio/activity'
import { heartbeatIntervalMs } from '../workflows/contract.ts'

/**
 * Runs the work and sends `details()` as a heartbeat at each interval until it ends. Work shorter than
 * one interval sends none: a beat costs the server a write.
 */
export async function beatWhile<Value>(
  context: Pick<Context, 'heartbeat'>,
  details: () => unknown,
  work: () => Promise<Value>,
): Promise<Value> {
  const beat = setInterval(() => context.heartbeat(details()), heartbeatIntervalMs)
  try {
    return await work()
  } finally {
    clearInterval(beat)
  }
}
