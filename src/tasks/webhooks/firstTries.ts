import { setTimeout as sleep } from 'node:timers/promises'
import type { TryDelivery } from './tryDelivery.ts'
import type { FairQueue } from '../../domain/fairQueue.ts'
import { createFairQueue } from '../../domain/fairQueue.ts'
import type { DeliveryStore, DueWebhook, WakeRun } from '../../domain/ports/webhookStore.ts'
import { inFlightMax } from '../../domain/webhooks/delivery.ts'

type FirstTriesDeps = {
  readonly store: Pick<DeliveryStore, 'dueWebhooks' | 'claimDelivery'>
  readonly tryDelivery: TryDelivery
  readonly wakeRun: WakeRun
  /** Called when PostgreSQL cannot be used. The delivery stays due, and a worker tries it again. */
  readonly onError: (error: unknown) => void
}

/** Makes the first try of every delivery. */
export type FirstTries = {
  readonly start: () => void
  /** Tries what has just become due. Returns at once and never throws. */
  readonly look: (due: readonly DueWebhook[]) => void
  /** Looks for everything that is due, without the wait for the next poll. Returns at once and never throws. */
  readonly lookForAll: () => void
  /** Starts no further try, and resolves when those under way are over. */
  readonly stop: () => Promise<void>
}

/** How often a worker looks for deliveries that no process has told it about. */
const pollMs = 500
/** The shortest time between two looks. */
const lookPauseMs = 20
const webhooksMax = 5_000
/**
 * Limits for the tries that are under way in this process. Failing webhooks have a limit of their own, because a try
 * lasts 15 seconds when the receiver does not answer.
 */
const healthyMax = 192
const failingMax = 64
const waitingMax = 50_000

/** A series of tries of one webhook, one after the other. The fair queue needs `sync`, which is the same for all. */
type Lane = {
  readonly webhookId: string
  readonly accountId: string
  readonly failing: boolean
  readonly sync: true
}

/**
 * Creates the part of a worker that makes first tries. For each webhook it has up to `inFlightMax` lanes. A lane
 * waits for its turn, claims one delivery, tries it, and then waits again behind the lanes of other accounts. It ends
 * when it can claim nothing, and after an error. A delivery whose first try fails is left to the webhook's run.
 */
export function createFirstTries(deps: FirstTriesDeps): FirstTries {
  const healthy = createPlaces(healthyMax)
  const failing = createPlaces(failingMax)
  const lanes = new Map<string, number>()
  const underWay = new Set<Promise<void>>()
  const stopping = new AbortController()
  let polling = Promise.resolve()
  let hurry = new AbortController()

  function open({ webhookId, accountId, failing, due }: DueWebhook): void {
    const missing = Math.min(due, inFlightMax) - (lanes.get(webhookId) ?? 0)
    for (let lane = 0; lane < missing; lane += 1) {
      lanes.set(webhookId, (lanes.get(webhookId) ?? 0) + 1)
      enter({ webhookId, accountId, failing, sync: true })
    }
  }

  function enter(lane: Lane): void {
    const dropped = (lane.failing ? failing : healthy).queue.add(lane)
    if (dropped !== undefined) leave(dropped)
    run()
  }

  function leave({ webhookId }: Lane): void {
    const left = (lanes.get(webhookId) ?? 1) - 1
    if (left > 0) lanes.set(webhookId, left)
    else lanes.delete(webhookId)
  }

  function run(): void {
    for (const places of [healthy, failing]) {
      while (places.used < places.max && !stopping.signal.aborted) {
        const lane = places.queue.take()
        if (lane === undefined) break
        places.used += 1
        const running = tryOne(lane).finally(() => {
          places.used -= 1
          underWay.delete(running)
          run()
        })
        underWay.add(running)
      }
    }
  }

  async function tryOne(lane: Lane): Promise<void> {
    try {
      const claimed = await deps.store.claimDelivery(lane.webhookId, 'first')
      if (claimed === undefined) return leave(lane)
      const { needsRun, failed } = await deps.tryDelivery(claimed)
      if (needsRun) await deps.wakeRun(lane)
      return enter({ ...lane, failing: failed })
    } catch (error) {
      leave(lane)
      return deps.onError(error)
    }
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      hurry = new AbortController()
      try {
        for (const webhook of await deps.store.dueWebhooks(webhooksMax)) open(webhook)
      } catch (error) {
        deps.onError(error)
      }
      await pause(lookPauseMs, stopping.signal)
      await pause(pollMs, AbortSignal.any([stopping.signal, hurry.signal]))
    }
  }

  return {
    start: () => {
      polling = poll()
    },
    look: (due) => {
      if (stopping.signal.aborted) return
      for (const webhook of due) open(withNewDue(webhook, lanes))
    },
    lookForAll: () => hurry.abort(),
    stop: async () => {
      stopping.abort()
      await polling
      await Promise.all(underWay)
    },
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}

/**
 * Adds the number of lanes to `due`, so that `open` opens a further lane for each new delivery. `open` must not count
 * on the lanes that exist, because each of them may be about to end.
 */
function withNewDue(webhook: DueWebhook, lanes: ReadonlyMap<string, number>): DueWebhook {
  return { ...webhook, due: (lanes.get(webhook.webhookId) ?? 0) + webhook.due }
}

/** Counts the tries that are under way, up to `max`, and keeps the lanes that wait for their turn. */
function createPlaces(max: number): {
  used: number
  readonly max: number
  readonly queue: FairQueue<Lane>
} {
  return { used: 0, max, queue: createFairQueue<Lane>(waitingMax) }
}
