import { Agent } from 'undici'
import { inputImage } from '../../test/support/clients/requestBodies.ts'
import { paddedPng } from '../../test/support/images.ts'
import { mebibyte, peakGrowthBytes } from '../../test/support/service/processUsage.ts'
import type { BenchCase, BenchService, BenchWorld } from '../support/benchWorld.ts'
import { startOthers, taskBody } from '../support/benchWorld.ts'
import type { Shot } from '../support/load.ts'
import { ask, loadOf, shoot } from '../support/load.ts'
import { cpuMs } from '../support/processes.ts'
import { percentile } from '../support/runBench.ts'

/** Bodies with some images. `times`: how many are sent one after the other. */
type Size = { readonly images: number; readonly imageBytes: number; readonly times: number }
const largest: Size = { images: 16, imageBytes: 4 * mebibyte, times: 8 }
const sizes: Readonly<Record<string, Size>> = {
  '10 KB': { images: 1, imageBytes: 7_500, times: 200 },
  '4 MiB': { images: 1, imageBytes: 4 * mebibyte, times: 40 },
  '64 MiB': largest,
}

/** Edits up to their 202, on a service that calls no upstream meanwhile. */
export const door: BenchCase = {
  name: 'door',
  title: 'edits at the door, images in JSON',
  run: async (world) => {
    // A service of its own, because other cases have already grown the heap of the shared one.
    const service = await world.startService({ held: 'B' })
    try {
      for (const name of Object.keys(sizes)) await oneAfterTheOther(world, service, name)
      await eightAtOnce(world, service)
    } finally {
      await service.stop()
    }
  },
}

/**
 * Sends bodies one after the other, first alone, then beside a probe for stalls, which takes CPU of its own.
 */
async function oneAfterTheOther(
  { figure, quick }: BenchWorld,
  service: BenchService,
  name: string,
): Promise<void> {
  const size = sizes[name] ?? largest
  const times = quick ? size.times / 4 : size.times
  const api = service.apis.map(({ pid }) => pid)
  const sent = submitOf(service, size)
  const shot: Shot = (agent) => shoot(agent, tasksUrl(service), sent, 202)
  const run = (count: number) => loadOf(count, 1, shot)
  await run(Math.ceil(times / 2))
  const before = cpuMs(api)
  const { p50Ms } = await run(times)
  const cpu = (cpuMs(api) - before) / times
  const probe = await startHealthProbe(service)
  await run(times)
  const [mostMs, mostCpuMs] = name === '4 MiB' ? [{ atMost: 45 }, { atMost: 25 }] : []
  figure(`${name}: to the 202, p50`, p50Ms, 'ms', mostMs)
  figure(`${name}: CPU of the API`, cpu, 'ms', mostCpuMs)
  figure(`${name}: longest stall`, await longestMs(probe), 'ms')
}

/** Sends eight of the largest bodies at once, beside small requests of another account. */
async function eightAtOnce({ figure }: BenchWorld, service: BenchService): Promise<void> {
  const { secret } = await service.account()
  const headers = { ...service.headers, authorization: `Bearer ${secret}` }
  const lookupUrl = `${service.url}/v1/tasks`
  const small = { name: 'submit', url: tasksUrl(service), headers, body: taskBody(), lookupUrl }
  const others = await startOthers([{ ...small, everyMs: 50 }])
  const probe = await startHealthProbe(service)
  const agent = new Agent({ headersTimeout: 300_000 })
  const counts = { accepted: 0, refused: 0, wrong: 0 }
  await others.report()
  const sent = submitOf(service, largest)
  const startedAtMs = performance.now()
  const growth = await peakGrowthBytes(service.apis[0]?.pid ?? 0, async () => {
    const one = async () => {
      const { status, headers } = await ask(agent, tasksUrl(service), sent)
      const isRefused = status === 429 && headers['retry-after'] !== undefined
      counts[status === 202 ? 'accepted' : isRefused ? 'refused' : 'wrong'] += 1
    }
    await Promise.all(Array.from({ length: 8 }, one))
  })
  const tookMs = performance.now() - startedAtMs
  const p99 = percentile(Object.values(await others.report()).flat(), 0.99)
  const eight = 'eight of 64 MiB at once'
  figure(`${eight}: longest stall`, await longestMs(probe), 'ms', { atMost: 50 })
  figure(`${eight}: others' p99`, p99, 'ms', { atMost: 60 })
  figure(`${eight}: growth`, growth / mebibyte, 'MiB', { atMost: 450 })
  figure(`${eight}: until all are answered`, tookMs, 'ms')
  figure(`${eight}: answered 202`, counts.accepted)
  figure(`${eight}: answered 429 with Retry-After`, counts.refused)
  figure(`${eight}: answered otherwise`, counts.wrong, '', { atMost: 0 })
  await Promise.all([others.stop(), agent.close()])
}

/** The event loop of an API answers about its health at once, so the longest answer is its longest stall. */
async function startHealthProbe({ url }: BenchService) {
  const probe = await startOthers([
    { name: 'health', url: `${url}/healthz`, headers: {}, everyMs: 3 },
  ])
  await probe.report()
  return probe
}

async function longestMs({ report, stop }: Awaited<ReturnType<typeof startOthers>>) {
  const longest = percentile(Object.values(await report()).flat(), 1)
  await stop()
  return longest
}

const tasksUrl = ({ url }: BenchService) => `${url}/v1/images/tasks`

/** Returns an edit with as many images as the size says, in JSON. */
function submitOf({ headers }: BenchService, { images, imageBytes }: Size) {
  const one = (_: unknown, n: number) => inputImage(paddedPng(imageBytes, n))
  const input_images = Array.from({ length: images }, one)
  const edit = { ...JSON.parse(taskBody()), action: 'edit', input_images }
  return { headers, body: Buffer.from(JSON.stringify(edit)) }
}
