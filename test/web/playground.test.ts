import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Route } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { paddedPng, redPixelPng } from '../support/images.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { seriousProblems } from '../support/web/browser.ts'
import { usePlaygroundWorld } from '../support/web/playgroundWorld.ts'
import { studioOf } from '../support/web/studio.ts'

/** A cooldown belongs to a model, so a test that causes one uses a model that no other test uses. */
const web = 'familyb-image-2-web'
const pro = 'familya-3-pro-image'

const run = promisify(execFile)

const world = usePlaygroundWorld()

/** Pastes one image and drops another, as the browser reports both. */
const pasteAndDrop = `
  for (const [name, type, field] of [
    ['pasted.png', 'paste', 'clipboardData'],
    ['dropped.png', 'drop', 'dataTransfer'],
  ]) {
    const bytes = Uint8Array.from(atob('${redPixelPng.toString('base64')}'), (each) => each.charCodeAt(0))
    const transfer = new DataTransfer()
    transfer.items.add(new File([bytes], name))
    const Kind = type === 'paste' ? ClipboardEvent : DragEvent
    document.body.dispatchEvent(new Kind(type, { [field]: transfer, bubbles: true }))
  }`

describe('the playground', () => {
  it('says what an image costs, makes it, and charges exactly that [pages-3]', async () => {
    await world.inStudio(async ({ page, image, tiles, choose, see }) => {
      await see('10,000 credits')
      await choose(/familyb-image-2-vip/)
      await choose('low')
      await see(/^6 credits$/)
      await page.getByRole('textbox').fill('a red bicycle')
      // Two clicks before the page is drawn again.
      await page.evaluate('document.forms[0].requestSubmit(); document.forms[0].requestSubmit()')
      await image.waitFor()
      await see('6 credits charged')
      await see('9,994 credits')
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).click(),
      ])
      expect(download.suggestedFilename()).toMatch(/^task_\w+\.png$/)
      expect(await tiles.count()).toBe(1)
      expect(await seriousProblems(page)).toEqual([])
    })
  })

  it('edits an image in a chain, and leads back to each step', async () => {
    await world.inStudio(async ({ page, image, stage, submit, press }) => {
      await submit(web, 'a green boat')
      await image.waitFor()
      for (const prompt of ['with a sail', 'at night']) {
        const before = await image.getAttribute('src')
        await press('Edit this')
        await page.getByRole('img', { name: 'The image above' }).waitFor()
        await submit(web, prompt)
        await expect.poll(() => image.getAttribute('src')).not.toBe(before)
      }
      expect(await world.calls('at night')).toMatchObject([{ action: 'edit', images: [{}] }])
      const steps = page.getByRole('navigation', { name: 'Steps of this image' })
      expect(await steps.getByRole('listitem').count()).toBe(3)
      await steps.getByRole('button', { name: 'Step 1: a green boat' }).click()
      await stage.getByText('a green boat').waitFor()
    })
  })

  it('shows a failure in the words of the API, charges nothing, and makes the request again', async () => {
    await world.inStudio(async ({ page, image, submit, press, see }) => {
      await submit(web, 'a cat [sim:moderation times=1]')
      await see('content_policy_violation')
      await see('nothing charged')
      expect(await seriousProblems(page)).toEqual([])
      await press('Again')
      await image.waitFor()
    })
  })

  it('counts Retry-After down and repeats the submit under its key', async () => {
    await world.inStudio(async ({ page, image, submit, see }) => {
      const body = {
        error: { message: 'Too many large requests.', type: 'x', param: null, code: 'y' },
      }
      const refuse = (route: Route) =>
        route.fulfill({ status: 429, headers: { 'Retry-After': '4' }, json: body })
      await page.route('**/v1/images/tasks', refuse, { times: 1 })
      await submit(web, 'a slow train')
      await see('Too many large requests.')
      const countdown = page.locator('.countdown')
      const first = await countdown.textContent()
      expect(first).toMatch(/^Trying again in \d seconds$/)
      await expect.poll(() => countdown.textContent()).not.toBe(first)
      expect(await seriousProblems(page)).toEqual([])
      await image.waitFor()
      expect(await world.calls('a slow train')).toHaveLength(1)
    })
  })

  it('buys once when the answer of a submit is lost and the page reloaded, source images included', async () => {
    await world.inStudio(async ({ page, choose, submit, see }) => {
      const keys: (string | undefined)[] = []
      await page.route('**/v1/images/tasks', async (route) => {
        keys.push(route.request().headers()['idempotency-key'])
        if (keys.length > 2) return route.continue()
        await route.fetch()
        return route.abort()
      })
      await choose('Edit')
      await page.locator('.drop input').setInputFiles([
        { name: 'one.png', mimeType: 'image/png', buffer: redPixelPng },
        { name: 'two.png', mimeType: 'image/png', buffer: paddedPng(9_000, 7) },
      ])
      await submit(web, 'two pixels')
      await see('The API did not answer.')
      await page.reload()
      const { image } = await studioOf(page)
      await image.waitFor()
      expect(new Set(keys).size).toBe(1)
      expect(keys.length).toBeGreaterThan(2)
      expect(await world.calls('two pixels')).toMatchObject([{ images: [{}, {}] }])
    })
  })

  it('loses nothing by a reload in mid-task', async () => {
    await world.inStudio(async ({ page, submit }) => {
      await world.service.simulator.script({ prompt: 'a long exposure' }, ['hold'])
      await submit(web, 'a long exposure')
      await world.service.simulator.waitForCalls(1, { prompt: 'a long exposure' })
      await page.reload()
      const { stage, image, see } = await studioOf(page)
      await stage.getByText('a long exposure').waitFor()
      await see('Developing')
      expect(await seriousProblems(page)).toEqual([])
      await world.service.simulator.release()
      await image.waitFor()
    })
  })

  it('shows progress live, and by polling where the event stream does not pass', async () => {
    await world.inStudio(async ({ page, stage, image, submit }, { complaints, requests }) => {
      const show = async (prompt: string) => {
        await world.service.simulator.script({ prompt }, ['hold'])
        await submit(web, prompt)
        await stage.getByText(/^[1-9]\d? %$/).waitFor()
        await world.service.simulator.release()
        await image.waitFor()
      }
      await show('a live view')
      const polls = () => requests.filter((url) => /\/v1\/tasks\/task_\w+$/.test(url)).length
      // One lookup after the end, for what was charged.
      await expect.poll(polls).toBe(1)
      expect(complaints).toEqual([])
      await page.route('**/events', (route) => route.fulfill({ status: 502, body: 'a proxy' }))
      await show('a view by polling')
      expect(polls()).toBeGreaterThan(2)
    })
  })

  it('cancels a task that waits, and says why it cannot cancel one whose call is under way', async () => {
    await world.inStudio(async ({ page, submit, press, see, image }) => {
      await world.service.simulator.script({ prompt: 'a held frame' }, ['hold'])
      await submit(web, 'a held frame')
      await world.service.simulator.waitForCalls(1, { prompt: 'a held frame' })
      await press('Cancel')
      await see('task_not_cancellable')
      await world.service.simulator.release()
      await image.waitFor()
      await submit(pro, 'a queue [sim:429 retry-after=60]')
      await world.service.simulator.waitForCalls(1, { prompt: 'a queue' })
      // The first tries are refused when the worker has not yet recorded the 429.
      const cancel = page.getByRole('button', { name: 'Cancel', exact: true })
      await expect
        .poll(async () => {
          await cancel.click({ timeout: 1_000 }).catch(() => undefined)
          return page.getByText('Cancelled', { exact: true }).count()
        })
        .not.toBe(0)
      await see('nothing charged')
    })
  })

  it('takes source images by paste, drop and file, and refuses before an upload what the API would refuse', async () => {
    await world.inStudio(async ({ page, see }) => {
      const files = (...buffers: readonly (readonly [string, Buffer])[]) =>
        buffers.map(([name, buffer]) => ({ name, mimeType: 'image/png', buffer }))
      const add = (list: ReturnType<typeof files>) =>
        page.locator('.drop input').setInputFiles(list)
      await page.evaluate(pasteAndDrop)
      await expect.poll(() => page.locator('.thumbs li').count()).toBe(2)
      expect(await page.getByRole('radio', { name: 'Edit', exact: true }).isChecked()).toBe(true)
      await page.getByRole('button', { name: 'Remove dropped.png' }).click()
      await add(files(['text.png', Buffer.from('no image')]))
      await see('text.png is not a PNG, JPEG or WebP image.')
      const many = Array.from({ length: 17 }, (_, i) => [`${i}.png`, redPixelPng] as const)
      await add(files(...many))
      await see('16.png is one too many.')
      expect(await page.locator('.thumbs li').count()).toBe(16)
    })
  })

  it.each(['generate', 'edit'])(
    'gives a curl line that runs, without the key: %s',
    async (action) => {
      await world.inStudio(async ({ page, prompt, choose }, _opened, secret) => {
        const text = `a photographer's lamp, 100 % red, to ${action}\\n`
        const folder = tempFolder()
        await writeFile(join(folder, "it's one.png"), redPixelPng)
        if (action === 'edit') {
          await choose('Edit')
          await page.locator('.drop input').setInputFiles(join(folder, "it's one.png"))
          await page.locator('.thumbs li').waitFor()
        }
        await prompt.fill(text)
        await page.locator('summary').click()
        const command = (await page.locator('.curl pre').textContent()) ?? ''
        expect(command).not.toContain(secret)
        const env = { ...process.env, DARKROOM_API_KEY: secret }
        const { stdout } = await run('sh', ['-c', command], { cwd: folder, env })
        expect(JSON.parse(stdout)).toMatchObject({ status: 'queued' })
        const [call] = await world.service.simulator.waitForCalls(1, { prompt: text })
        expect(call?.images).toHaveLength(action === 'edit' ? 1 : 0)
      })
    },
  )

  it('shows how far an upload is', async () => {
    await world.inStudio(async ({ page, choose, image, submit }) => {
      const network = await page.context().newCDPSession(page)
      const slow = {
        offline: false,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput: 1_000_000,
      }
      await network.send('Network.enable')
      await network.send('Network.emulateNetworkConditions', slow)
      await choose('Edit')
      const buffer = paddedPng(3_000_000, 1)
      await page.locator('.drop input').setInputFiles({ name: 'l.png', mimeType: '', buffer })
      await page.locator('.thumbs li').waitFor()
      await submit(web, 'a large source')
      const part = () => page.getByLabel('Uploading').getAttribute('value')
      await expect.poll(part, { interval: 20 }).toMatch(/^[1-9]\d$/)
      await image.waitFor()
    })
  })

  it('shows all tasks of the account page by page, and says which have expired', async () => {
    const account = await world.service.account(10_000)
    const client = createClient(world.service.url, account.secret)
    const { task_id: oldest } = await client.accepted(generateBody({ model: web }))
    await client.ended(oldest)
    const expire = `update task set expires_at = now() - interval '1 second' where task_id = $1`
    await world.service.pool.query(expire, [oldest])
    await Promise.all(
      Array.from({ length: 24 }, () => client.accepted(generateBody({ model: web }))),
    )
    await world.inStudio(
      async ({ page, tiles, press, stage }) => {
        await expect.poll(() => tiles.count()).toBe(24)
        await press('Show older ones')
        await expect.poll(() => tiles.count()).toBe(25)
        await page.getByRole('button', { name: /Expired/ }).click()
        await stage.getByText('The image is no longer kept.').waitFor()
        expect(await seriousProblems(page)).toEqual([])
      },
      { account },
    )
  })
})
