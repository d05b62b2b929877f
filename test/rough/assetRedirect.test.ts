import { afterAll, expect, it } from 'vitest'
import { startS3Server } from '../support/blobs/s3Server.ts'
import { startTestService } from '../support/service/testService.ts'
import { usePlaygroundWorld } from '../support/web/playgroundWorld.ts'

const s3 = await startS3Server()
const service = await startTestService({
  environment: { ...s3.environment, BLOB_STORE: `s3://${s3.bucket}`, ASSET_REDIRECT: 'on' },
})
const world = usePlaygroundWorld(service)

afterAll(async () => {
  await service.stop()
  await s3.stop()
})

it('with ASSET_REDIRECT the playground shows its images, edits them and saves them, from its own origin alone [asset-5]', async () => {
  const web = 'familyb-image-2-web'
  await world.inStudio(async ({ page, image, submit, press }, { requests }) => {
    await submit(web, 'a bridge')
    await image.waitFor()
    const width = () => page.evaluate<number>(`document.querySelector('.plate img').naturalWidth`)
    await expect.poll(width).toBeGreaterThan(0)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download' }).click()
    expect((await download).suggestedFilename()).toMatch(/^task_\w+\.png$/)
    // Other clients are sent to the bucket.
    const shown = requests.find((url) => url.includes('/assets/'))?.replace('/playground/', '/v1/')
    expect((await fetch(shown ?? '', { redirect: 'manual' })).status).toBe(307)
    await press('Edit this')
    await page.getByRole('img', { name: 'The image above' }).waitFor()
    await submit(web, 'a bridge at night')
    expect(await world.calls('a bridge at night', 1)).toMatchObject([
      { action: 'edit', images: [{}] },
    ])
  })
})
