import type { Page } from 'playwright-core'

export type Studio = Awaited<ReturnType<typeof studioOf>>

/** Returns what people do in the playground, and where they look, once a page that has an API key shows it. */
export async function studioOf(page: Page) {
  const prompt = page.locator('#prompt')
  await prompt.waitFor()
  /** The task on display. */
  const stage = page.locator('.stage')
  /** Chooses a radio button by its whole name, or by a part of it. */
  const choose = (name: string | RegExp) => page.getByRole('radio', { name, exact: true }).check()
  return {
    page,
    prompt,
    stage,
    image: stage.locator('.plate img'),
    tiles: page.getByRole('region', { name: 'Your images' }).getByRole('listitem'),
    choose,
    submit: async (model: string, text: string) => {
      await choose(new RegExp(model))
      await prompt.fill(text)
      await page.getByRole('button', { name: /^(Make|Edit) the image/ }).click()
    },
    press: (button: string) => page.getByRole('button', { name: button, exact: true }).click(),
    /** Waits until a text is on the page, outside of what only screen readers see. */
    see: (text: string | RegExp) =>
      page
        .locator('main, header')
        .getByText(text)
        .and(page.locator(':not(.visually-hidden)'))
        .first()
        .waitFor(),
  }
}
