import type { Locator, Page } from 'playwright-core'

/** What people do in the playground, and where they look. */
export type Studio = {
  readonly page: Page
  readonly prompt: Locator
  /** The task on display. */
  readonly stage: Locator
  /** The image on display. */
  readonly image: Locator
  readonly tiles: Locator
  /** Chooses a radio button by its whole name, or by a part of it. */
  readonly choose: (name: string | RegExp) => Promise<void>
  readonly submit: (model: string, prompt: string) => Promise<void>
  readonly press: (button: string) => Promise<void>
  /** Waits until a text is on the page, outside of what only screen readers see. */
  readonly see: (text: string | RegExp) => Promise<void>
}

/** Returns the studio of a page that has an API key, once it is shown. */
export async function studioOf(page: Page): Promise<Studio> {
  const prompt = page.locator('#prompt')
  await prompt.waitFor()
  const stage = page.locator('.stage')
  const choose = (name: string | RegExp) => page.getByRole('radio', { name, exact: true }).check()
  return {
    page,
    prompt,
    stage,
    image: stage.locator('.plate img'),
    tiles: page.getByRole('region', { name: 'Your images' }).getByRole('listitem'),
    choose,
    submit: async (model, text) => {
      await choose(new RegExp(model))
      await prompt.fill(text)
      await page.getByRole('button', { name: /^(Make|Edit) the image/ }).click()
    },
    press: (button) => page.getByRole('button', { name: button, exact: true }).click(),
    see: (text) =>
      page
        .locator('main, header')
        .getByText(text)
        .and(page.locator(':not(.visually-hidden)'))
        .first()
        .waitFor(),
  }
}
