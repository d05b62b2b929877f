import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchCase } from '../support/benchCase.ts'
import { imageBytes, taskBody } from '../support/benchWorld.ts'
import { download, loadAtRate, loadFor, shoot } from '../support/load.ts'

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
  round: async ({ shared, quick }) => {
    const { service, floorUrl } = await shared()
    const { client, headers } = service
    const seconds = quick ? 3 : 6
    const { task_id: ended } = await client.accepted(taskBody())
    await client.ended(ended)
    const urlOf = (taskId: string) => `${service.url}/v1/tasks/${taskId}`
    const floor = await loadFor(seconds, 20, (agent) => shoot(agent, `${floorUrl}/row/${ended}`))
    const own = await loadFor(seconds, 20, (agent) => shoot(agent, urlOf(ended), { headers }))
    const latencyMs = (seconds + 6) * 1000
    const running = await Promise.all(
      Array.from({ length: 20 }, () => client.accepted(taskBody({ latencyMs }))),
    )
    await sleep(2_000)
    const live = await loadAtRate(1_000, seconds, (agent, n) =>
      shoot(agent, urlOf(running[n % running.length]?.task_id ?? ''), { headers }),
    )
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
  round: async ({ shared, quick }) => {
    const { service, floorUrl } = await shared()
    const { client } = service
    const seconds = quick ? 3 : 6
    const body = taskBody({ bytes: imageBytes.large })
    const record = await client.ended((await client.accepted(body)).task_id)
    const url = record.output?.assets[0]?.url ?? ''
    const floor = await loadFor(seconds, 20, (agent) => download(agent, `${floorUrl}/file`))
    const own = await loadFor(seconds, 20, (agent) => download(agent, url))
    return {
      downloads: own.perSecond,
      'bare createReadStream': floor.perSecond,
      'of createReadStream': own.perSecond / floor.perSecond,
    }
  },
}
