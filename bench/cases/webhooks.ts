import { generationShot } from './tasks.ts'
import type { BenchCase } from '../support/benchCase.ts'
import { loadFor } from '../support/load.ts'
import { startReceiver } from '../../test/support/webhooks/receiver.ts'
import { createWebhookClient } from '../../test/support/webhooks/webhookClient.ts'

/** The calls of an account whose webhook has a receiver that never answers, next to those of another account. */
export const deadReceiver: BenchCase = {
  name: 'sync-webhook',
  title: 'synchronous, 20 connections, 4 KiB, with a webhook whose receiver never answers',
  figures: {
    calls: { unit: 'per s' },
    'of calls without webhook': { unit: 'x', goal: { atLeast: 0.9 } },
  },
  round: async ({ service, quick }) => {
    const seconds = quick ? 4 : 10
    const receiver = await startReceiver()
    receiver.behave = () => {}
    const account = await service.account(1_000_000_000)
    await createWebhookClient(service, account).register(`${receiver.url}/dead`)
    const headers = { ...service.headers, authorization: `Bearer ${account.secret}` }
    try {
      const before = await loadFor(seconds, 20, generationShot(service))
      const own = await loadFor(seconds, 20, generationShot({ ...service, headers }))
      const after = await loadFor(seconds, 20, generationShot(service))
      return {
        calls: own.perSecond,
        'of calls without webhook': (2 * own.perSecond) / (before.perSecond + after.perSecond),
      }
    } finally {
      await receiver.close()
    }
  },
}
