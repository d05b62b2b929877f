/**
 * node bench/neighbours.ts [--quick]
 *
 * What one account keeps when others use the API too: its downloads of images of 2 MiB and its edits with an image
 * of 4 MiB, alone, beside an account that polls ten times a second, and beside twenty that each submit and poll
 * once a second. Once with images in files, once on an S3 server. Also a case of `npm run bench`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startS3Server } from '../test/support/blobs/s3Server.ts'
import { createClient } from '../test/support/clients/client.ts'
import { editBody, inputImage } from '../test/support/clients/requestBodies.ts'
import { paddedPng } from '../test/support/images.ts'
import { mebibyte } from '../test/support/service/processUsage.ts'
import type { BenchCase, FigureKind, Figures } from './support/benchCase.ts'
import { describeRounds } from './support/benchCase.ts'
import type { BenchService } from './support/benchWorld.ts'
import { openBenchWorld, startOthers, taskBody } from './support/benchWorld.ts'
import type { Shot } from './support/load.ts'
import { download, loadFor, shoot } from './support/load.ts'
import type { OtherAccount } from './support/otherAccounts.ts'
import { print, runBench } from './support/runBench.ts'

const stores = ['files', 'S3'] as const
const downloadBytes = 2 * mebibyte
const uploadBytes = 4 * mebibyte
/** What a load has left behind ends before the next one begins. */
const restMs = 2_000
/** An account that has sent nothing for ten seconds no longer counts. */
const aloneAfterMs = 11_000
const loads = [
  { what: 'downloads', connections: 8 },
  { what: 'downloads', connections: 64 },
  { what: 'edits', connections: 4 },
  { what: 'edits', connections: 8 },
] as const
type Loaded = (typeof loads)[number]
const besides = ['one that polls', 'twenty that submit and poll'] as const

const nameOf = (store: string, { what, connections }: Loaded) => `${store}, ${connections} ${what}`

export const neighbours: BenchCase = {
  name: 'neighbours',
  title: 'downloads of 2 MiB and edits of 4 MiB by one account, beside others',
  long: true,
  figures: Object.fromEntries(
    stores.flatMap((store) => loads.flatMap((load) => kindsOf(store, load))),
  ),
  round: async ({ startService, quick }) => {
    const figures: Record<string, number> = {}
    for (const store of stores) {
      const s3 = store === 'S3' ? await startS3Server() : undefined
      const environment = s3 && { ...s3.environment, BLOB_STORE: `s3://${s3.bucket}/neighbours` }
      // The edits wait for a place on the channel of family A. So only their way into the API is measured.
      const service = await startService({ held: 'A', ...(environment && { environment }) })
      try {
        for (const load of loads) {
          Object.assign(figures, await measure(service, nameOf(store, load), load, quick ? 2 : 10))
        }
      } finally {
        await service.stop()
        await s3?.stop()
      }
    }
    return figures
  },
}

function kindsOf(store: string, load: Loaded): readonly (readonly [string, FigureKind])[] {
  const unit = load.what === 'downloads' ? 'MB/s' : 'per s'
  const name = nameOf(store, load)
  return [
    [`${name}, alone`, { unit }],
    ...besides.flatMap((beside): [string, FigureKind][] => [
      [`${name}, beside ${beside}`, { unit }],
      [`${name}, beside ${beside}, of alone`, { unit: 'x', goal: { atLeast: 0.8 } }],
      [`${name}, p99 of ${beside}`, { unit: 'ms', goal: { atMost: 60 } }],
    ]),
  ]
}

/** Measures one load alone and beside each of the others, for `seconds` each. */
async function measure(
  service: BenchService,
  name: string,
  { what, connections }: Loaded,
  seconds: number,
): Promise<Figures> {
  const shot = what === 'downloads' ? await downloadShot(service) : uploadShot(service)
  const parts = what === 'downloads' ? downloadBytes / 1e6 : 1
  const rate = async () => (await loadFor(seconds, connections, shot)).perSecond * parts
  await sleep(aloneAfterMs)
  await loadFor(seconds / 4, connections, shot)
  const alone = await rate()
  const figures: Record<string, number> = { [`${name}, alone`]: alone }
  for (const beside of besides) {
    await sleep(restMs)
    const others = await startOthers(await accountsOf(service, beside))
    await others.report()
    const besideOthers = await rate()
    figures[`${name}, beside ${beside}`] = besideOthers
    figures[`${name}, beside ${beside}, of alone`] = besideOthers / alone
    figures[`${name}, p99 of ${beside}`] = (await others.report()).p99Ms
    await others.stop()
  }
  return figures
}

async function accountsOf(
  { account, url, headers }: BenchService,
  beside: (typeof besides)[number],
): Promise<readonly OtherAccount[]> {
  const count = beside === 'one that polls' ? 1 : 20
  const accounts = await Promise.all(Array.from({ length: count }, () => account()))
  return Promise.all(
    accounts.map(async ({ secret }) => {
      const { accepted, authorization } = createClient(url, secret)
      const own = { url, headers: { ...headers, authorization } }
      if (count > 1) return { ...own, everyMs: 1_000, body: taskBody() }
      const { task_id: taskId } = await accepted(taskBody())
      return { ...own, everyMs: 100, path: `/v1/tasks/${taskId}` }
    }),
  )
}

async function downloadShot({ client }: BenchService): Promise<Shot> {
  const { task_id: taskId } = await client.accepted(taskBody({ bytes: downloadBytes }))
  const record = await client.ended(taskId)
  const url = record.output?.assets[0]?.url ?? ''
  return (agent) => download(agent, url)
}

function uploadShot({ url, headers }: BenchService): Shot {
  const input_images = [inputImage(paddedPng(uploadBytes, 1))]
  const body = Buffer.from(JSON.stringify(editBody({ model: 'familya-3-pro-image', input_images })))
  const sent = { method: 'POST', headers, body, status: 202 } as const
  return (agent) => shoot(agent, `${url}/v1/images/tasks`, sent)
}

if (import.meta.main) {
  await runBench(async ({ pidOf }) => {
    const say = (line: string) => void process.stderr.write(`${line}\n`)
    const quick = process.argv.includes('--quick')
    const world = await openBenchWorld({ quick, say, pidOf })
    try {
      const figures = await neighbours.round(world)
      for (const line of describeRounds(neighbours, [figures])) print(line)
    } finally {
      await world.close()
    }
  })
}
