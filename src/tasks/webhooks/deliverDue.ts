import { setTimeout as sleep } from 'node:timers/promises'
import type { TryDeliveryDeps } from './tryDelivery.ts'
import { tryDelivery } from './tryDelivery.ts'
import { claimDue } from '../../store/webhooks/claimDue.ts'
import type { ClaimedDelivery } from '../../domain/webhooks/delivery.ts'

/** The loop of a worker that tries the deliveries that are due. */
export type DeliverDue = ReturnType<typeof createDeliverDue>

/** How often the loop looks for deliveries of which this process was not told. */
const pollMs = 500
/** The pause after a look that found nothing, so that a worker that ends many tasks does not look for each of them. */
const idlePauseMs = 100
/** How many deliveries one look claims at most. */
const lookClaimsMax = 64

/** Limit for the tries that are under way in this process. A try lasts 15 seconds when its receiver does not answer. */
export const triesMax = 512
/** Tries that only receivers have whose last try was delivered or who had none, so that dead ones do not delay them. */
export const keptForWell = 128

/** Creates the loop. It claims what is due, starts the tries, and looks again when one of them is over. */
export function createDeliverDue(deps: TryDeliveryDeps) {
  const underWay = new Set<Promise<void>>()
  const stopping = new AbortController()
  let woken = new AbortController()
  let running = Promise.resolve()

  // Without a reason, Node would make an error with its stack for each end.
  const wake = () => woken.abort('woken')

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      woken = new AbortController()
      const room = Math.min(lookClaimsMax, triesMax - underWay.size)
      const claimed = await claim(room)
      for (const delivery of claimed) begin(delivery)
      if (claimed.length === 0) await sleep(idlePauseMs)
      if (claimed.length < room || room === 0) await pause(pollMs, woken.signal)
    }
  }

  async function claim(room: number): Promise<readonly ClaimedDelivery[]> {
    if (room === 0) return []
    const failingToo = underWay.size + room <= triesMax - keptForWell
    try {
      return await claimDue(deps.pool, { claimsMax: room, failingToo })
    } catch (error) {
      // PostgreSQL cannot be used. What is due stays due.
      deps.log.warn('webhook not tried', { error })
      return []
    }
  }

  function begin(delivery: ClaimedDelivery): void {
    const { webhookId } = delivery
    const trying = tryDelivery(deps, delivery)
      // The delivery is due again when its claim has ended, though its receiver may have it already.
      .catch((error: unknown) => deps.log.warn('webhook try not recorded', { webhookId, error }))
      .finally(() => {
        underWay.delete(trying)
        wake()
      })
    underWay.add(trying)
  }

  return {
    start: (): void => {
      running = run()
    },
    /** Makes the loop look soon, because a delivery may be due. Returns at once. */
    wake,
    /** Claims nothing more, and resolves when the tries under way are over. */
    stop: async (): Promise<void> => {
      stopping.abort()
      wake()
      await running
      await Promise.all(underWay)
    },
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
