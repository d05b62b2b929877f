import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { adminSecrets } from '../support/service/adminClient.ts'
import { calmService } from '../support/service/calmService.ts'
import { visit } from '../support/web/browser.ts'
import { usePage } from '../support/web/usePage.ts'

const service = await calmService()
const world = usePage()

const phone = { locale: 'zh-CN', viewport: { width: 390, height: 844 } }
const languages = ['zh-Hans', 'en']

/** What is cut off or leaves the window, except in rows that scroll by themselves. */
const overflowing = `[...document.querySelectorAll('#app *')]
  .filter((each) => !each.closest('.views, .visually-hidden, thead, .filters button'))
  .filter((each) => each.getBoundingClientRect().right > innerWidth ||
    each.matches('button, .button, .quiet, legend, .choice > span, .state, input[type=search]') &&
    each.scrollWidth > each.clientWidth)
  .map((each) => each.outerHTML.slice(0, 200))`

async function expectFits(page: Page, what: string): Promise<void> {
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
  expect([what, wide, await page.evaluate(overflowing)]).toEqual([what, phone.viewport.width, []])
}

/**
 * Opens a page with a Chinese browser on a phone, and then in the other language, which its reader chooses. Returns the
 * languages that it had after a reload.
 */
async function inEachLanguage(
  url: string,
  secret: string,
  look: (page: Page, language: string) => Promise<void>,
): Promise<readonly string[]> {
  const { page, complaints, close } = await visit(world.browser, url, phone)
  const seen: string[] = []
  await page.locator('#key').waitFor()
  await expectFits(page, 'sign-in')
  await page.locator('#key').fill(secret)
  await page.keyboard.press('Enter')
  for (const each of languages) {
    const other = page.locator(`button[lang=${each}]`)
    if (each !== languages[0]) await other.click()
    await other.waitFor({ state: 'detached' })
    await look(page, each)
    await page.reload()
    await page.locator('.bar button').first().waitFor()
    seen.push(await page.evaluate<string>('document.documentElement.lang'))
  }
  expect(complaints).toEqual([])
  await close()
  return seen
}

it('the playground speaks the language of the browser or the one that its reader chose, and fits a phone in each', async () => {
  const { secret } = await service.account()
  const seen = await inEachLanguage(service.url, secret, async (page, language) => {
    const [make, edit] =
      language === 'en' ? ['Make the image', 'Edit this'] : ['生成图片', '编辑此图']
    await page.locator('[name=action][value=generate]').check()
    await expectFits(page, `${language}, at the beginning`)
    for (const end of ['succeeded', 'failed']) {
      const prompt = `${language} ${end}${end === 'failed' ? ' [sim:moderation]' : ''}`
      await page.locator('#prompt').fill(prompt)
      await page.getByRole('button', { name: make }).click()
      await page.locator(`.stage.${end} .caption`).getByText(prompt).waitFor()
      await expectFits(page, `${language}, ${end}`)
    }
    await page.locator('.tile.succeeded').first().click()
    await page.getByRole('button', { name: edit, exact: true }).click()
    await page.locator('.thumbs img').waitFor()
    await expectFits(page, `${language}, edit`)
  })
  expect(seen).toEqual(languages)
})

it('the console speaks the language of the browser or the one that its reader chose, and fits a phone in each', async () => {
  const account = await service.account(1_000)
  const client = createClient(service.url, account.secret)
  const body = generateBody({ model: 'familyb-image-2-vip', prompt: 'the phone [sim:moderation]' })
  const { task_id: taskId } = await client.accepted(body)
  await client.ended(taskId)
  const views = ['overview', 'queue', 'channels', 'webhooks', 'usage', 'audit', 'accounts']
  const shown = [
    ...views,
    `tasks?account=${account.name}`,
    `tasks/${taskId}`,
    `accounts/${account.name}`,
  ]
  const seen = await inEachLanguage(service.adminUrl, adminSecrets.boss, async (page, language) => {
    for (const view of shown) {
      await page.goto(`${service.adminUrl}/#/${view}`)
      await page.locator('main').locator('table, .hint, .facts-list').first().waitFor()
      await expectFits(page, `${language}, ${view}`)
    }
    await page.getByRole('button', { name: language === 'en' ? 'Top up' : '充值' }).click()
    await page.locator('dialog[open]').waitFor()
    await expectFits(page, `${language}, a dialog`)
  })
  expect(seen).toEqual(languages)
})
