/**
 * node bench/neighbours.ts [--quick]
 *
 * What one account keeps when others use the API too: its downloads of images of 2 MiB and its edits with an
 * image of 4 MiB, alone, beside an account that polls ten times a second, and beside twenty that each submit
 * and poll once a second. Once with images in files, once on an S3 server. Also a case of `npm run bench`.
 */
import { startS3Server } from '../test/support/blobs/s3Server.ts'
import { createClient } from '../test/support/clients/client.ts'
import { editBody, inputImage } from '../test/support/clients/requestBodies.ts'
import { paddedPng } from '../test/support/images.ts'
import { mebibyte } from '../test/support/service/processUsage.ts'
import { assetUrl } from './cases/tasks.ts'
import type { BenchCase, BenchService, BenchWorld } from './support/benchWorld.ts'
import { runCases, startOthers, taskBody } from './support/benchWorld.ts'
import type { Shot } from './support/load.ts'
import { download, loadFor, shoot } from './support/load.ts'
import type { OtherAccount } from './support/otherAccounts.ts'
import { percentile } from './support/runBench.ts'

const downloadBytes = 2 * mebibyte
const uploadBytes = 4 * mebibyte
const loads = [
  { what: 'downloads', connections: 8, unit: 'MB/s', perShot: downloadBytes / 1e6 },
  { what: 'downloads', connections: 64, unit: 'MB/s', perShot: downloadBytes / 1e6 },
  { what: 'edits', connections: 4, unit: 'per s', perShot: 1 },
  { what: 'edits', connections: 8, unit: 'per s', perShot: 1 },
] as const

export const neighbours: BenchCase = {
  name: 'neighbours',
  title: 'downloads of 2 MiB and edits of 4 MiB of one account, beside others',
  long: true,
  run: async (world) => {
    for (const store of ['files', 'S3']) {
      const s3 = store === 'S3' ? await startS3Server() : undefined
      const environment = s3 && { ...s3.environment, BLOB_STORE: `s3://${s3.bucket}/neighbours` }
      // The edits wait for a place on the channel of family A. So only their way into the API is measured.
      const service = await world.startService({ held: 'A', ...(environment && { environment }) })
      try {
        for (const load of loads) await measure(world, service, store, load)
      } finally {
        await service.stop()
        await s3?.stop()
      }
    }
  },
}

/** Measures one load alone and beside others. */
async function measure(
  { figure, quick }: BenchWorld,
  service: BenchService,
  store: string,
  { what, connections, unit, perShot }: (typeof loads)[number],
): Promise<void> {
  const seconds = quick ? 2 : 10
  const name = `${store}, ${connections} ${what}`
  const shot = what === 'downloads' ? await downloadShot(service) : uploadShot(service)
  const rate = async () => (await loadFor(seconds, connections, shot)).perSecond * perShot
  console.error(name)
  await loadFor(seconds / 4, connections, shot)
  const alone = await rate()
  figure(`${name}, alone`, alone, unit)
  for (const [beside, accounts] of Object.entries({
    'one that polls': await pollers(service),
    'twenty that submit and poll': await submitters(service),
  })) {
    const others = await startOthers(accounts)
    await others.report()
    const value = await rate()
    const p99 = percentile(Object.values(await others.report()).flat(), 0.99)
    await others.stop()
    figure(`${name}, ${beside}`, value, unit)
    figure('  of alone', value / alone, 'x', { atLeast: 0.8 })
    figure("  the others' p99", p99, 'ms', { atMost: 60 })
  }
}

/** One account that asks for its task ten times a second. */
async function pollers({ url, account }: BenchService): Promise<readonly OtherAccount[]> {
  const { accepted, authorization } = createClient(url, (await account()).secret)
  const { task_id: taskId } = await accepted(taskBody())
  const headers = { authorization }
  return [{ name: 'lookup', url: `${url}/v1/tasks/${taskId}`, headers, everyMs: 100 }]
}

/** Twenty accounts that each submit a task and ask for it once a second. */
async function submitters(service: BenchService): Promise<readonly OtherAccount[]> {
  const accounts = await Promise.all(Array.from({ length: 20 }, () => service.account()))
  return accounts.map(({ secret }) => ({
    name: 'submit',
    url: `${service.url}/v1/images/tasks`,
    headers: { ...service.headers, authorization: `Bearer ${secret}` },
    everyMs: 1_000,
    body: taskBody(),
    lookupUrl: `${service.url}/v1/tasks`,
  }))
}

async function downloadShot(service: BenchService): Promise<Shot> {
  const url = await assetUrl(service, downloadBytes)
  return (agent) => download(agent, url)
}

function uploadShot({ url, headers }: BenchService): Shot {
  const input_images = [inputImage(paddedPng(uploadBytes, 1))]
  const body = Buffer.from(JSON.stringify(editBody({ model: 'familya-3-pro-image', input_images })))
  return (agent) => shoot(agent, `${url}/v1/images/tasks`, { headers, body }, 202)
}

if (import.meta.main) await runCases([neighbours], process.argv.includes('--quick'))
