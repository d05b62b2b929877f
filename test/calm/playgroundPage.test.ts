import { describe, expect, it } from 'vitest'
import { newTaskOwner } from '../support/database/insertEndedTasks.ts'
import { calmService } from '../support/service/calmService.ts'
import { seriousProblems, visit } from '../support/web/browser.ts'
import { usePlaygroundWorld } from '../support/web/playgroundWorld.ts'

const html = '<img src=x onerror="document.ran = 1"><script>document.ran = 1</script>'
const vip = 'familyb-image-2-vip'

const service = await calmService()
const world = usePlaygroundWorld(service)

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
})
