import { asyncBody } from './tasks.ts'
import type { BenchCase } from '../support/benchCase.ts'
import { generationBody } from '../support/benchWorld.ts'
import { loadAtRate, loadFor, shoot } from '../support/load.ts'
import { createClient } from '../../test/support/clients/client.ts'

/** Lookups of an ended task, against one select by primary key, and of a running task at a fixed rate. */
export const lookups: BenchCase = {
  name: 'lookup',
  title: 'lookup',
  figures: {
    ended: { unit: 'per s' },
    'bare select': { unit: 'per s' },
    'ended, of the bare select': { unit: 'x', goal: { atLeast: 0.8 } },
    'running, at 1,000 per s, p99': { unit: 'ms', goal: { atMost: 30 } },
  },
  round: async ({ service, floorUrl, quick }) => {
    const seconds = quick ? 3 : 6
    const client = createClient(service.url, service.owner.secret)
    const { task_id: ended } = await client.accepted(asyncBody())
    await client.ended(ended)
    const headers = { authorization: service.headers['authorization'] ?? '' }
    const floor = await loadFor(seconds, 20, async (agent) => {
      await shoot(agent, `${floorUrl}/row/${ended}`)
    })
    const own = await loadFor(seconds, 20, async (agent) => {
      await shoot(agent, `${service.url}/v1/tasks/${ended}`, { headers })
    })
    const runningMs = (seconds + 6) * 1000
    const running = await Promise.all(
      Array.from({ length: 20 }, () => client.accepted(asyncBody(runningMs))),
    )
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const live = await loadAtRate(1_000, seconds, async (agent, n) => {
      const { task_id = '' } = running[n % running.length] ?? {}
      await shoot(agent, `${service.url}/v1/tasks/${task_id}`, { headers })
    })
    await Promise.all(running.map(({ task_id }) => client.ended(task_id)))
    return {
      ended: own.perSecond,
      'bare select': floor.perSecond,
      'ended, of the bare select': own.perSecond / floor.perSecond,
      'running, at 1,000 per s, p99': live.p99Ms,
    }
  },
}

/** Downloads of a 1 MiB image by its signed URL, against a stream from the same file behind bare Koa. */
export const assets: BenchCase = {
  name: 'asset',
  title: 'asset, 1 MiB',
  figures: {
    downloads: { unit: 'per s' },
    'bare createReadStream': { unit: 'per s' },
    'of createReadStream': { unit: 'x', goal: { atLeast: 0.8 } },
  },
  round: async ({ service, floorUrl, quick }) => {
    const seconds = quick ? 3 : 6
    const client = createClient(service.url, service.owner.secret)
    const body = { ...JSON.parse(generationBody('large')), action: 'generate' }
    const record = await client.ended((await client.accepted(body)).task_id)
    const url = record.output?.assets[0]?.url ?? ''
    const floor = await loadFor(seconds, 20, async (agent) => {
      await shoot(agent, `${floorUrl}/file`)
    })
    const own = await loadFor(seconds, 20, async (agent) => {
      await shoot(agent, url)
    })
    return {
      downloads: own.perSecond,
      'bare createReadStream': floor.perSecond,
      'of createReadStream': own.perSecond / floor.perSecond,
    }
  },
}
