import { describe, expect, it } from 'vitest'
import { lookTimeoutMs } from '../../src/domain/webhooks/delivery.ts'
import { createRetryDue } from '../../src/tasks/webhooks/retryDue.ts'

/** Makes one look of a run that can claim nothing, and plans the next one after `plannedMs`. */
async function idleLook(plannedMs: number | undefined) {
  const plans: (number | undefined)[] = []
  const retryDue = createRetryDue({
    store: {
      claimDelivery: () => Promise.resolve(undefined),
      planLook: (_webhookId, waitMs) => {
        plans.push(waitMs)
        return Promise.resolve(plannedMs)
      },
    },
    tryDelivery: () => Promise.reject(new Error('nothing was claimed')),
    nowMs: () => 0,
  })
  return { waitMs: await retryDue('wh_1', new AbortController().signal), plans }
}

describe('a look of the run of a webhook that can claim nothing', () => {
  it('is followed by the next one three seconds later at the earliest', async () => {
    expect((await idleLook(0)).waitMs).toBe(3_000)
    expect((await idleLook(20_000)).waitMs).toBe(20_000)
    expect((await idleLook(undefined)).waitMs).toBeUndefined()
  })

  it('says first how long it may take, so that the run does not count as lost', async () => {
    expect((await idleLook(0)).plans).toEqual([lookTimeoutMs, undefined])
  })
})
