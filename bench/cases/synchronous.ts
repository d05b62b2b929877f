import { peakMiB } from '../../test/support/service/processUsage.ts'
import { startReceiver } from '../../test/support/webhooks/receiver.ts'
import { createWebhookClient } from '../../test/support/webhooks/webhookClient.ts'
import type { BenchCase, Figures } from '../support/benchCase.ts'
import type { BenchService } from '../support/benchWorld.ts'
import {
  forwardedShot,
  generationBody,
  generationPath,
  generationShot,
  imageBytes,
} from '../support/benchWorld.ts'
import type { Load, Shot } from '../support/load.ts'
import { ask, loadFor, loadOf, shoot } from '../support/load.ts'
import { cpuMs } from '../support/processes.ts'

/** One call at a time: what Darkroom adds to the same call through a forwarder that stores nothing. */
export const oneAtATime: BenchCase = {
  name: 'sync-one',
  title: 'synchronous, one at a time, 4 KiB',
  figures: {
    'added p50': { unit: 'ms', goal: { atMost: 7 } },
    p50: { unit: 'ms' },
    'forwarder p50': { unit: 'ms' },
    'bare workflow p50': { unit: 'ms' },
    'p50, of the bare workflow': { unit: 'x', goal: { atMost: 1.5 } },
  },
  round: async ({ shared, quick }) => {
    const { service, floorUrl } = await shared()
    const count = quick ? 60 : 300
    const forwarder = await loadOf(count, 1, forwardedShot(floorUrl))
    const own = await loadOf(count, 1, generationShot(service))
    const bare = await loadOf(count / 2, 1, (agent) => shoot(agent, `${floorUrl}/execute`))
    return {
      'added p50': own.p50Ms - forwarder.p50Ms,
      p50: own.p50Ms,
      'forwarder p50': forwarder.p50Ms,
      'bare workflow p50': bare.p50Ms,
      'p50, of the bare workflow': own.p50Ms / bare.p50Ms,
    }
  },
}

export const twentySmall: BenchCase = {
  name: 'sync-20',
  title: 'synchronous, 20 connections, 4 KiB',
  figures: {
    calls: { unit: 'per s', goal: { atLeast: 300 } },
    p99: { unit: 'ms' },
    'CPU a call': { unit: 'ms', goal: { atMost: 5 } },
    'CPU a call, API': { unit: 'ms' },
    'CPU a call, worker': { unit: 'ms' },
    'CPU a call, PostgreSQL': { unit: 'ms' },
    'CPU a call, Temporal': { unit: 'ms' },
    forwarder: { unit: 'per s' },
    'of the forwarder': { unit: 'x' },
  },
  round: async ({ shared, quick }) => {
    const { service, floorUrl } = await shared()
    const seconds = quick ? 4 : 10
    const forwarder = await loadFor(seconds / 2, 20, forwardedShot(floorUrl))
    const own = await costed(service, () => loadFor(seconds, 20, generationShot(service)))
    return {
      ...own,
      forwarder: forwarder.perSecond,
      'of the forwarder': own.calls / forwarder.perSecond,
    }
  },
}

export const twentyLarge: BenchCase = {
  name: 'sync-20-1mib',
  title: 'synchronous, 20 connections, 1 MiB',
  figures: {
    calls: { unit: 'per s', goal: { atLeast: 90 } },
    p99: { unit: 'ms' },
    'CPU a call': { unit: 'ms' },
    API: { unit: 'MiB', goal: { atMost: 350 } },
    worker: { unit: 'MiB', goal: { atMost: 350 } },
  },
  round: async ({ shared, quick }) => {
    const { service } = await shared()
    const shot = generationShot(service, { bytes: imageBytes.large })
    const own = await costed(service, () => loadFor(quick ? 4 : 10, 20, shot))
    return { ...own, ...memoryOf(service) }
  },
}

export const manyCallers: BenchCase = {
  name: 'sync-200',
  title: 'synchronous, 200 callers at once of a model that takes 2 s',
  figures: {
    calls: { unit: 'per s', goal: { atLeast: 80 } },
    p99: { unit: 'ms', goal: { atMost: 2_600 } },
  },
  round: async ({ shared, quick }) => {
    const { service } = await shared()
    const shot = generationShot(service, { latencyMs: 2_000 })
    const own = await loadOf(quick ? 400 : 1_000, 200, shot)
    return { calls: own.perSecond, p99: own.p99Ms }
  },
}

/** Callers of a model that takes 20 s. The channel has a place for each of them. */
export const slowModel: BenchCase = {
  name: 'slow',
  title: '3,000 callers at once of a model that takes 20 s (--quick: 300 callers, 5 s)',
  long: true,
  figures: {
    p50: { unit: 'ms', goal: { atMost: 20_500 } },
    p99: { unit: 'ms', goal: { atMost: 22_000 } },
    'answered 200': { unit: 'answers', goal: { atLeast: 3_000 } },
    API: { unit: 'MiB', goal: { atMost: 400 } },
    worker: { unit: 'MiB', goal: { atMost: 400 } },
  },
  round: async ({ startService, quick, say }) => {
    const service = await startService({ channel: { concurrencyMax: 5_000, timeoutSeconds: 300 } })
    try {
      await loadOf(quick ? 50 : 500, 20, generationShot(service))
      const body = generationBody({ latencyMs: quick ? 5_000 : 20_000 })
      const sent = { method: 'POST', headers: service.headers, body } as const
      const statuses: Record<string, number> = {}
      const callers = quick ? 300 : 3_000
      const load = await loadOf(callers, callers, async (agent) => {
        const answer = ask(agent, service.url + generationPath, sent)
        // A refused or broken call is part of the figure, and does not end the case.
        const how = await answer.then(
          ({ status }) => status,
          (error: unknown) => String(error),
        )
        statuses[how] = (statuses[how] ?? 0) + 1
      })
      say(`answers: ${JSON.stringify(statuses)}`)
      const { p50Ms: p50, p99Ms: p99 } = load
      return { p50, p99, 'answered 200': statuses[200] ?? 0, ...memoryOf(service) }
    } finally {
      await service.stop()
    }
  },
}

export const twoOfEach: BenchCase = {
  name: 'sync-two',
  title: 'synchronous, 20 connections, 4 KiB, two APIs and two workers on the same machine',
  figures: {
    calls: { unit: 'per s' },
    'of one API and one worker': { unit: 'x', goal: { atLeast: 1 } },
    'CPU a call, PostgreSQL': { unit: 'ms' },
  },
  round: async ({ shared, startService, quick }) => {
    const { service } = await shared()
    const seconds = quick ? 4 : 10
    const one = await loadFor(seconds, 20, generationShot(service))
    const two = await startService({ apis: 2, workers: 2 })
    try {
      const { headers } = two
      const shots = two.apis.map(({ url }) => generationShot({ url, headers }))
      const shot: Shot = async (agent, n) => shots[n % shots.length]?.(agent, n)
      // The processes of the shared service have already compiled their code.
      await loadOf(quick ? 400 : 1_000, 20, shot)
      const own = await costed(two, () => loadFor(seconds, 20, shot))
      return { ...own, 'of one API and one worker': own.calls / one.perSecond }
    } finally {
      await two.stop()
    }
  },
}

/** The calls of an account whose webhook has a receiver that never answers, next to those of another account. */
export const deadReceiver: BenchCase = {
  name: 'sync-webhook',
  title: 'synchronous, 20 connections, 4 KiB, with a webhook whose receiver never answers',
  figures: {
    calls: { unit: 'per s' },
    'of calls without webhook': { unit: 'x', goal: { atLeast: 0.9 } },
  },
  round: async ({ shared, quick }) => {
    const { service } = await shared()
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

function memoryOf({ parts }: BenchService): Figures {
  return { API: peakMiB(parts().api), worker: peakMiB(parts().worker) }
}

/** Runs a load and returns its rate, its p99 and the CPU time of each part for one call. */
async function costed(
  service: BenchService,
  work: () => Promise<Load>,
): Promise<Figures & { readonly calls: number }> {
  const pids = () => {
    const [api, worker] = [service.apis, service.workers].map((all) => all.map(({ pid }) => pid))
    const { postgres, temporal } = service.parts()
    return [api ?? [], worker ?? [], [postgres], [temporal]]
  }
  const before = pids().map(cpuMs)
  const load = await work()
  const [api = 0, worker = 0, postgres = 0, temporal = 0] = pids().map(
    (part, n) => (cpuMs(part) - (before[n] ?? 0)) / load.count,
  )
  return {
    calls: load.perSecond,
    p99: load.p99Ms,
    'CPU a call': api + worker + postgres + temporal,
    'CPU a call, API': api,
    'CPU a call, worker': worker,
    'CPU a call, PostgreSQL': postgres,
    'CPU a call, Temporal': temporal,
  }
}
