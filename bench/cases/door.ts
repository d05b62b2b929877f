import { Agent } from 'undici'
import { inputImage } from '../../test/support/clients/requestBodies.ts'
import { paddedPng } from '../../test/support/images.ts'
import { mebibyte, peakGrowthBytes } from '../../test/support/service/processUsage.ts'
import type { BenchCase, Figures } from '../support/benchCase.ts'
import type { BenchService } from '../support/benchWorld.ts'
import { startOthers, taskBody } from '../support/benchWorld.ts'
import type { Shot } from '../support/load.ts'
import { ask, loadOf, shoot } from '../support/load.ts'
import { cpuMs } from '../support/processes.ts'

/** What the bodies of the door carry, and how many of them are sent one after the other. */
const sizes = {
  '10 KB': { images: 1, imageBytes: 7_500, times: 200 },
  '4 MiB': { images: 1, imageBytes: 4 * mebibyte, times: 40 },
  '64 MiB': { images: 16, imageBytes: 4 * mebibyte, times: 5 },
} as const
const atOnce = 8
const tasksPath = '/v1/images/tasks'

/** Edits up to their 202, on a service that calls no upstream meanwhile. */
export const door: BenchCase = {
  name: 'door',
  title: 'edits at the door, images in JSON',
  figures: {
    '10 KB: to the 202, p50': { unit: 'ms' },
    '10 KB: CPU of the API': { unit: 'ms' },
    '10 KB: longest stall': { unit: 'ms' },
    '4 MiB: to the 202, p50': { unit: 'ms', goal: { atMost: 45 } },
    '4 MiB: CPU of the API': { unit: 'ms', goal: { atMost: 25 } },
    '4 MiB: longest stall': { unit: 'ms' },
    '64 MiB: to the 202, p50': { unit: 'ms' },
    '64 MiB: CPU of the API': { unit: 'ms' },
    '64 MiB: longest stall': { unit: 'ms' },
    'eight of 64 MiB: longest stall': { unit: 'ms', goal: { atMost: 50 } },
    'eight of 64 MiB: requests of another account p99': { unit: 'ms', goal: { atMost: 60 } },
    'eight of 64 MiB: the API grows by': { unit: 'MiB', goal: { atMost: 450 } },
    'eight of 64 MiB: until all are answered': { unit: 'ms' },
    'eight of 64 MiB: answered 202': { unit: 'answers' },
    'eight of 64 MiB: answered 429 with Retry-After': { unit: 'answers' },
    'eight of 64 MiB: answered otherwise': { unit: 'answers', goal: { atMost: 0 } },
  },
  round: async ({ startService, quick }) => {
    // A service of its own, because other cases have already grown the heap of the shared one.
    const service = await startService({ held: 'B' })
    try {
      const alone = await oneAfterTheOther(service, quick)
      return { ...alone, ...(await atTheSameTime(service)) }
    } finally {
      await service.stop()
    }
  },
}

/** Sends bodies of each size one after the other, first alone, then beside a probe for stalls, which takes CPU. */
async function oneAfterTheOther(service: BenchService, quick: boolean): Promise<Figures> {
  const api = [service.parts().api]
  const figures: Record<string, number> = {}
  const shots = Object.entries(sizes).map(([name, { times, ...size }]) => {
    const count = quick ? Math.ceil(times / 4) : times
    return { name, count, shot: editShot(service, editBody(size)) }
  })
  for (const { name, count, shot } of shots) {
    await loadOf(Math.ceil(count / 2), 1, shot)
    const before = cpuMs(api)
    const load = await loadOf(count, 1, shot)
    figures[`${name}: to the 202, p50`] = load.p50Ms
    figures[`${name}: CPU of the API`] = (cpuMs(api) - before) / count
  }
  const probe = await startHealthProbe(service)
  for (const { name, count, shot } of shots) {
    await probe.report()
    await loadOf(count, 1, shot)
    figures[`${name}: longest stall`] = (await probe.report()).longestMs
  }
  await probe.stop()
  return figures
}

/** Sends eight bodies of 64 MiB at once, beside small requests of another account. */
async function atTheSameTime(service: BenchService): Promise<Figures> {
  const { url, headers } = service
  const body = editBody(sizes['64 MiB'])
  const { secret } = await service.account()
  const other = { ...headers, authorization: `Bearer ${secret}` }
  const others = await startOthers([{ url, headers: other, everyMs: 50, body: taskBody() }])
  const probe = await startHealthProbe(service)
  const agent = new Agent({ headersTimeout: 120_000 })
  const statuses: string[] = []
  const startedAtMs = performance.now()
  await Promise.all([others.report(), probe.report()])
  const growth = await peakGrowthBytes(service.parts().api, async () => {
    const sent = { method: 'POST', headers, body } as const
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        const answer = await ask(agent, url + tasksPath, sent)
        const again = answer.headers['retry-after'] === undefined ? '' : ' with Retry-After'
        statuses.push(answer.status === 429 ? `429${again}` : String(answer.status))
      }),
    )
  })
  const allMs = performance.now() - startedAtMs
  const [seen, stalls] = [await others.report(), await probe.report()]
  await Promise.all([others.stop(), probe.stop(), agent.close()])
  const count = (status: string) => statuses.filter((each) => each === status).length
  const [accepted, refused] = [count('202'), count('429 with Retry-After')]
  return {
    'eight of 64 MiB: longest stall': stalls.longestMs,
    'eight of 64 MiB: requests of another account p99': seen.p99Ms,
    'eight of 64 MiB: the API grows by': growth / mebibyte,
    'eight of 64 MiB: until all are answered': allMs,
    'eight of 64 MiB: answered 202': accepted,
    'eight of 64 MiB: answered 429 with Retry-After': refused,
    'eight of 64 MiB: answered otherwise': atOnce - accepted - refused,
  }
}

/** The health of an API is answered by its event loop alone, so the longest answer is its longest stall. */
function startHealthProbe({ url }: BenchService) {
  return startOthers([{ url, headers: {}, everyMs: 3, path: '/healthz' }])
}

/** Returns the body of an edit with so many images, as JSON. */
function editBody(size: { readonly images: number; readonly imageBytes: number }): Buffer {
  const images = Array.from({ length: size.images }, (_, n) =>
    inputImage(paddedPng(size.imageBytes, n)),
  )
  const fields: object = JSON.parse(taskBody())
  return Buffer.from(JSON.stringify({ ...fields, action: 'edit', input_images: images }))
}

/** Returns a shot that submits an edit. */
function editShot({ url, headers }: BenchService, body: Buffer): Shot {
  const sent = { method: 'POST', headers, body, status: 202 } as const
  return (agent) => shoot(agent, url + tasksPath, sent)
}
