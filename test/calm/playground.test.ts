import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Route } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { newTaskOwner } from '../support/database/insertEndedTasks.ts'
import { calmService } from '../support/service/calmService.ts'
import { redPixelPng } from '../support/images.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { seriousProblems, visit } from '../support/web/browser.ts'
import { usePlaygroundWorld } from '../support/web/playgroundWorld.ts'
import { studioOf } from '../support/web/studio.ts'

const web = 'familyb-image-2-web'
/** A refusal holds up other tasks of this model for two seconds, so it is one that few tests use. */
const refused = 'familya-2.5-flash-image'

const html = '<img src=x onerror="document.ran = 1"><script>document.ran = 1</script>'
const vip = 'familyb-image-2-vip'

const service = await calmService()
const world = usePlaygroundWorld(service)

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

/** Drops a folder, which looks like a file that cannot be read, and an image. */
const dropFolder = `{
  const folder = new File([], 'a folder')
  folder.slice = () => ({ arrayBuffer: () => Promise.reject(new Error('a folder')) })
  const bytes = Uint8Array.from(atob('${redPixelPng.toString('base64')}'), (each) => each.charCodeAt(0))
  const event = new DragEvent('drop', { bubbles: true })
  const files = [folder, new File([bytes], 'beside.png')]
  Object.defineProperty(event, 'dataTransfer', { value: { files } })
  document.body.dispatchEvent(event)
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
      await see('9,994 credits')
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).click(),
      ])
      expect(download.suggestedFilename()).toMatch(/^task_\w+\.png$/)
      expect(await tiles.count()).toBe(1)
    })
  })

  it('says before a submit how long it takes, or why it would not be accepted [estimate-4]', async () => {
    await world.inStudio(
      async ({ page, choose, see }) => {
        await choose(/familyb-image-2-vip/)
        await choose('low')
        await see(/^Takes about \d+ s\.$/)
        await choose('high')
        await see(/^The balance does not cover this request/)
        expect(await page.getByText(/^Takes about/).count()).toBe(0)
      },
      await service.account(10),
    )
  })

  it('deletes an image for good after a question, and forgets its prompt [delete-2]', async () => {
    await world.inStudio(async ({ page, image, stage, tiles, submit, press, see }) => {
      await submit(web, 'a mistake')
      await image.waitFor()
      const answers = [false, true]
      page.on('dialog', (question) => (answers.shift() ? question.accept() : question.dismiss()))
      await press('Delete')
      await stage.getByText('a mistake').waitFor()
      await press('Delete')
      await see('The image is no longer kept.')
      expect(answers).toEqual([])
      await page.reload()
      await tiles.getByText('expired').waitFor()
      expect(await page.getByText('a mistake').count()).toBe(0)
    })
  })

  it('edits an image again and again, and leads back to each from the gallery', async () => {
    await world.inStudio(async ({ page, image, stage, tiles, submit, press }) => {
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
      expect(await tiles.count()).toBe(3)
      const shown = `(({ naturalWidth, currentSrc }) => naturalWidth && currentSrc)(document.querySelector('.tile img'))`
      await expect
        .poll(() => page.evaluate<unknown>(shown))
        .toMatch(/&width=(256|512)&format=webp$/)
      await tiles.last().getByRole('button').click()
      await stage.getByText('a green boat').waitFor()
    })
  })

  it('shows a failure in the words of the API, charges nothing, and makes the request again', async () => {
    await world.inStudio(async ({ image, submit, press, see }) => {
      await submit(web, 'a cat [sim:moderation times=1]')
      await see('content_policy_violation')
      await see(/^10,000 credits$/)
      await press('Again')
      await image.waitFor()
      expect(await world.calls('a cat')).toHaveLength(2)
    })
  })

  it('says when it tries again, as Retry-After says, repeats the submit under its key, and no submit whose answer forbids it', async () => {
    await world.inStudio(async ({ page, image, submit, see }) => {
      const body = {
        error: { message: 'Too many large requests.', type: 'x', param: null, code: 'y' },
      }
      const refuse = (route: Route) =>
        route.fulfill({ status: 429, headers: { 'Retry-After': '2' }, json: body })
      await page.route('**/v1/images/tasks', refuse, { times: 1 })
      await submit(web, 'a slow train')
      await see('Too many large requests.')
      const askedAtMs = performance.now()
      await see(/^Trying again at \d/)
      await image.waitFor()
      expect(performance.now() - askedAtMs).toBeGreaterThan(1_500)
      expect(await world.calls('a slow train')).toHaveLength(1)
      const unsure = { error: { ...body.error, message: 'Perhaps it was accepted.' } }
      const stop = { status: 500, headers: { 'x-should-retry': 'false' }, json: unsure }
      await page.route('**/v1/images/tasks', (route) => route.fulfill(stop), { times: 1 })
      await submit(web, 'a fast train')
      await see(unsure.error.message)
      expect(await page.getByText(/^Trying again at/).count()).toBe(0)
    })
  })

  it('buys once when the answers of a submit are lost, and shows its task after a reload', async () => {
    await world.inStudio(async ({ page, image, tiles, submit, see }) => {
      const keys: (string | undefined)[] = []
      await page.route('**/v1/images/tasks', async (route) => {
        keys.push(route.request().headers()['idempotency-key'])
        if (keys.length > 1) return route.continue()
        await route.fetch()
        return route.abort()
      })
      await submit(web, 'a lost answer')
      await see('The API did not answer.')
      await image.waitFor()
      expect(new Set(keys).size).toBe(1)
      expect(keys.length).toBeGreaterThan(1)
      expect(await world.calls('a lost answer')).toHaveLength(1)
      await page.reload()
      await expect.poll(() => tiles.count()).toBe(1)
    })
  })

  it('shows progress while the call is under way, loses nothing by a reload, and shows the end at once, by lookups that wait', async () => {
    await world.inStudio(async ({ page, stage, submit }, { complaints, requests }) => {
      await submit(web, 'a long exposure [sim:hold]')
      await stage.getByText(/^[1-9]\d?%$/).waitFor()
      await page.reload()
      const again = await studioOf(page)
      await again.stage.getByText('a long exposure').waitFor()
      await again.see('Developing')
      expect(await seriousProblems(page)).toEqual([])
      await world.release('a long exposure')
      await again.image.waitFor()
      const polls = requests.filter((url) => /\/v1\/tasks\/task_\w+$/.test(url)).length
      expect(polls).toBeLessThan(25)
      expect(complaints).toEqual([])
    })
  })

  it('cancels a task that waits, and says why it cannot cancel one whose call is under way', async () => {
    await world.inStudio(async ({ page, submit, press, see, image }) => {
      await submit(web, 'a held frame [sim:hold]')
      await world.calls('a held frame', 1)
      await press('Cancel')
      await see('task_not_cancellable')
      await world.release('a held frame')
      await image.waitFor()
      await submit(refused, 'a queue [sim:429 retry-after=2]')
      await world.calls('a queue', 1)
      // The first tries are refused when the worker has not yet recorded the 429.
      const cancel = page.getByRole('button', { name: 'Cancel', exact: true })
      await expect
        .poll(async () => {
          await cancel.click({ timeout: 1_000 }).catch(() => undefined)
          return page.getByText('Cancelled', { exact: true }).count()
        })
        .not.toBe(0)
      await expect.poll(() => page.getByText(/held$/).count()).toBe(0)
    })
  })

  it('takes source images by paste, drop and file, refuses what is no image, and shows what the API refuses', async () => {
    await world.inStudio(async ({ page, submit, see }) => {
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
      await page.evaluate(dropFolder)
      await see('a folder is not a PNG, JPEG or WebP image.')
      await page.getByRole('button', { name: 'Remove beside.png' }).waitFor()
      const many = Array.from({ length: 16 }, (_, i) => [`${i}.png`, redPixelPng] as const)
      await add(files(...many))
      await submit(web, 'too many')
      await see('input_images')
    })
  })

  it('says that a source image is gone from the disk, and takes another', async () => {
    const path = join(tempFolder(), 'gone.png')
    await writeFile(path, redPixelPng)
    await world.inStudio(async ({ page, image, submit, press, see }) => {
      await page.locator('.drop input').setInputFiles(path)
      await page.getByRole('button', { name: 'Remove gone.png' }).waitFor()
      await rm(path)
      await submit(web, 'of what is gone')
      await see(/^A source image cannot be read/)
      await press('Remove gone.png')
      const other = { name: 'other.png', mimeType: 'image/png', buffer: redPixelPng }
      await page.locator('.drop input').setInputFiles(other)
      await submit(web, 'of what is there')
      await image.waitFor()
      expect(await world.calls('of what is there')).toMatchObject([{ images: [{}] }])
    })
  })

  it('keeps the form when the image to edit cannot be read', async () => {
    await world.inStudio(async ({ page, prompt, image, submit, press, see }) => {
      await submit(web, 'a lost image')
      await image.waitFor()
      const gone = { status: 404, json: { error: { message: 'The image is gone.' } } }
      await page.route('**/playground/assets/**', (route) => route.fulfill(gone))
      await press('Edit this')
      await see('The image is gone.')
      expect(await prompt.inputValue()).toBe('a lost image')
    })
  })
})

/** The time from the navigation to the first paint with content, in milliseconds. */
const painted = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [entry] = list.getEntriesByName('first-contentful-paint')
    if (entry) resolve(entry.startTime)
  }).observe({ type: 'paint', buffered: true })
})`

describe('the page', () => {
  it('paints within a second, weighs less than 160 KiB, and takes a stranger to the first image by three clicks', async () => {
    const { secret } = await service.account()
    const { page, complaints, close } = await visit(world.browser, 'about:blank')
    const bytes: Promise<number>[] = []
    page.on('requestfinished', (request) => {
      const sizes = request.sizes()
      bytes.push(sizes.then((size) => size.responseBodySize + size.responseHeadersSize))
    })
    await page.goto(service.url)
    // The field has the focus without a click, as soon as the page is drawn.
    await page.locator('#key:focus').waitFor()
    let paintedMs = await page.evaluate<number>(painted)
    const total = (await Promise.all(bytes)).reduce((sum, each) => sum + each, 0)
    page.removeAllListeners('requestfinished')
    expect(bytes.length).toBeGreaterThan(20)
    expect(total).toBeLessThan(160 * 1024)
    // On a busy machine, one of five visits may take longer. Each visit loads all files again.
    for (let visits = 1; visits < 5 && paintedMs >= 1_000; visits += 1) {
      const again = await visit(world.browser, service.url)
      await again.page.getByLabel('API key').waitFor()
      paintedMs = await again.page.evaluate<number>(painted)
      await again.close()
    }
    expect(paintedMs).toBeLessThan(1_000)
    expect(await seriousProblems(page)).toEqual([])
    await page.keyboard.insertText('sk-wrong')
    await page.keyboard.press('Enter')
    await page.getByText('The API key is missing or invalid.').waitFor()
    expect(complaints).toHaveLength(2)
    const refused = page.waitForResponse((answer) => answer.status() === 401)
    await page.getByLabel('API key').fill(html)
    await page.keyboard.press('Enter')
    await refused
    await page.locator('#key:focus').waitFor()
    expect(await page.evaluate('document.ran')).toBeUndefined()
    await page.getByLabel('API key').fill(secret)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('button', { name: 'A lighthouse at dusk' }).click()
    await page.getByRole('button', { name: /Make the image/ }).click()
    await page.getByRole('img', { name: 'A lighthouse at dusk' }).first().waitFor()
    expect(await page.getByRole('figure').getByRole('img').count()).toBe(1)
    await close()
  })

  it('can be used with the keyboard alone', async () => {
    await world.inStudio(async ({ page, image, tiles, see }) => {
      const focused = () => page.evaluate<string>(`document.activeElement.textContent.trim()`)
      const tabTo = async (text: string) => {
        for (let presses = 0; presses < 60; presses += 1) {
          if ((await focused()).startsWith(text)) return
          await page.keyboard.press('Tab')
        }
        throw new Error(`Tab does not reach ${text}`)
      }
      await page.locator('#prompt:focus').waitFor()
      await page.keyboard.type('typed by hand')
      await page.keyboard.press('Tab')
      await page.keyboard.press('End')
      for (let presses = 0; presses < 5; presses += 1) await page.keyboard.press('ArrowDown')
      await see(/^53 credits$/)
      await tabTo('Make the image')
      await page.keyboard.press('Enter')
      await image.waitFor()
      await tabTo('Edit this')
      await page.keyboard.press('Enter')
      await page.locator('#prompt:focus').waitFor()
      await page.getByRole('img', { name: 'The image above' }).waitFor()
      await page.keyboard.type('and edited')
      await page.keyboard.press('Control+Enter')
      await expect.poll(() => tiles.count()).toBe(2)
    })
  })

  it('fits a phone and the dark, and runs nothing of what a prompt or the name of an account contains', async () => {
    const account = await service.account(10_000, html)
    await world.inStudio(async ({ page, image, submit }) => {
      await submit(vip, `${html} ${'word '.repeat(30)}${'w'.repeat(200)}`)
      await image.waitFor()
      await page.locator('.account-name').getByText('<img src=x').waitFor()
      await page.locator('.caption').getByText('<img src=x').waitFor()
      expect(await page.locator('img[src=x], #app script').count()).toBe(0)
      expect(await page.evaluate('document.ran')).toBeUndefined()
      const ground = 'getComputedStyle(document.documentElement).backgroundColor'
      for (const [width, colorScheme] of [
        [360, 'light'],
        [1280, 'dark'],
      ] as const) {
        await page.setViewportSize({ width, height: 740 })
        await page.emulateMedia({ colorScheme })
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
        expect(wide).toBeLessThanOrEqual(width)
        const isDark = /^rgb\((\d\d?), /.test(await page.evaluate<string>(ground))
        expect(isDark).toBe(colorScheme === 'dark')
        expect(await seriousProblems(page)).toEqual([])
      }
    }, account)
  })

  it('shows all tasks of the account page by page, and says which have expired', async () => {
    const { owner, insert } = await newTaskOwner(service)
    const [oldest] = await insert({ count: 1, at: '2026-01-01' })
    const expire = `update task set expires_at = now() - interval '1 second' where task_id = $1`
    await service.pool.query(expire, [oldest])
    await insert({ count: 24 })
    await world.inStudio(async ({ page, tiles, press, stage }) => {
      await expect.poll(() => tiles.count()).toBe(24)
      await press('Show older ones')
      await expect.poll(() => tiles.count()).toBe(25)
      await page.getByRole('button', { name: /expired/ }).click()
      await stage.getByText('The image is no longer kept.').waitFor()
    }, owner)
  })

  it('leaves no gap before a task that is kept on display, nor after many that came from elsewhere', async () => {
    const { owner, insert } = await newTaskOwner(service)
    const ended = { status: 'failed', every: '1 minute' } as const
    await insert({ ...ended, count: 60, at: '2026-01-01' })
    await world.inStudio(async ({ page, tiles, press, submit, see }) => {
      await expect.poll(() => tiles.count()).toBe(24)
      await press('Show older ones')
      await expect.poll(() => tiles.count()).toBe(48)
      await tiles.last().getByRole('button').click()
      await page.reload()
      await expect.poll(() => tiles.count()).toBe(25)
      await press('Show older ones')
      await expect.poll(() => tiles.count()).toBe(48)
      await press('Show older ones')
      await expect.poll(() => tiles.count()).toBe(60)
      const refuse = { status: 400, json: { error: { message: 'Refused.' } } }
      await page.route('**/v1/images/tasks', (route) => route.fulfill(refuse), { times: 1 })
      await submit(web, 'refused')
      await see('Refused.')
      await insert({ ...ended, count: 30, at: '2026-01-02' })
      await press('Close')
      await expect.poll(() => tiles.count()).toBe(84)
      await press('Show older ones')
      await expect.poll(() => tiles.count()).toBe(90)
    }, owner)
  })
})
