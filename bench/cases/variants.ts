import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import sharp from 'sharp'
import { startSimulator } from '../../src/dev/simulator/startSimulator.ts'
import { createClient } from '../../test/support/clients/client.ts'
import { generateBody } from '../../test/support/clients/requestBodies.ts'
import { simulatorFile } from '../../test/support/service/simulatorFile.ts'
import { startTestService } from '../../test/support/service/testService.ts'
import type { BenchCase } from '../support/benchWorld.ts'
import { generationBody, startOthers } from '../support/benchWorld.ts'
import { download, loadFor, loadOf } from '../support/load.ts'
import { describeMs, percentile } from '../support/runBench.ts'

/** A page of images, all of which are asked for at once. */
const page = 40
const sidePixels = 4096
const models = { large: 'familya-3-pro-image', small: 'familyb-image-2-vip' } as const
/** The first one is that of the page. */
const forms = ['webp', 'jpeg', 'png'].flatMap((format) =>
  [256, 128, 512, 1024].map((width) => `width=${width}&format=${format}`),
)

/** Smaller forms of 4K images: how long a page of them takes, and what making them costs other accounts. */
export const variants: BenchCase = {
  name: 'variants',
  title: `forms of ${sidePixels} x ${sidePixels} images`,
  long: true,
  run: async ({ figure, quick }) => {
    const upstream = await startSimulator({ port: 0, latency: 50, image: await photograph() })
    const file = (url: string, family: 'A' | 'B') =>
      simulatorFile(url, { concurrencyMax: 20 }).channels.filter((each) => each.family === family)
    const operatorFile = (small: string) => ({
      channels: [...file(upstream.url, 'A'), ...file(small, 'B')],
    })
    const service = await startTestService({ operatorFile, environment: { LOG_LEVEL: 'warn' } })
    try {
      const made = async (secret: string, model: string) => {
        const client = createClient(service.url, secret)
        const { task_id: taskId } = await client.accepted(generateBody({ model }))
        return { taskId, url: (await client.ended(taskId)).output?.assets[0]?.url ?? '' }
      }
      const { secret } = await service.account()
      const urls: string[] = []
      while (urls.length < page) urls.push((await made(secret, models.large)).url)
      /** The form that is asked for first of each image, then the second of each one, and so on. */
      const formUrl = (n: number) =>
        `${urls[n % page]}&${forms[Math.floor(n / page) % forms.length]}`
      const thumbnails = () => loadOf(page, page, (agent, n) => download(agent, formUrl(n - 1)))
      const cold = await thumbnails()
      const warm = await thumbnails()
      figure(`${page} thumbnails, cold`, page / cold.perSecond, 's', { atMost: 5 })
      figure(`${page} thumbnails, warm`, (page / warm.perSecond) * 1000, 'ms', { atMost: 200 })

      const another = (await service.account()).secret
      const small = await made(another, models.small)
      const authorization = { authorization: `Bearer ${another}` }
      const headers = { ...authorization, 'content-type': 'application/json' }
      const others = await startOthers([
        { name: 'lookup', url: `${service.url}/v1/tasks/${small.taskId}`, headers, everyMs: 50 },
        { name: 'download', url: small.url, headers: {}, everyMs: 50 },
        {
          name: 'call',
          url: `${service.url}/v1/images/generations`,
          body: generationBody(),
          headers,
          everyMs: 50,
        },
      ])
      const phaseMs = quick ? 5_000 : 30_000
      await sleep(phaseMs)
      const before = await others.report()
      // No form is asked for twice, so each must be made.
      const hostile = loadFor(phaseMs / 1000, 64, (agent, n) =>
        download(agent, formUrl(page + n - 1)),
      )
      const hostileLoad = await hostile
      const beside = await others.report()
      await others.stop()
      figure('forms made for a hostile account', hostileLoad.count)
      for (const [name, sample] of Object.entries(beside)) {
        const alone = before[name] ?? []
        console.log(describeMs(`${name}, alone`, alone))
        console.log(describeMs(`${name}, beside a hostile account`, sample))
        const rise = percentile(sample, 0.99) - percentile(alone, 0.99)
        figure(`${name}: p99 rises by`, rise, 'ms', { atMost: 25 })
      }
    } finally {
      await service.stop()
      await upstream.close()
    }
  },
}

/** Returns a PNG with large shapes and fine grain, as photographs have: about 1.3 bytes a pixel. */
async function photograph(): Promise<Buffer> {
  const shapes = sharp(randomBytes(64 * 64 * 3), { raw: { width: 64, height: 64, channels: 3 } })
  const grain = await sharp(randomBytes(sidePixels * sidePixels), {
    raw: { width: sidePixels, height: sidePixels, channels: 1 },
  })
    .linear(0.03, 0)
    .toColourspace('b-w')
    .png({ compressionLevel: 1 })
    .toBuffer()
  return await shapes
    .resize(sidePixels, sidePixels, { kernel: 'cubic' })
    .composite([{ input: grain, blend: 'add' }])
    .removeAlpha()
    .png({ adaptiveFiltering: true })
    .toBuffer()
}
