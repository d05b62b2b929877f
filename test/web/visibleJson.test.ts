import { expect, it } from 'vitest'

/** The function that the pages run. It is JavaScript, so it is loaded by its path. */
const page: { readonly visibleJson: (text: string) => unknown } = await import(
  new URL('../../src/web/shared/visibleJson.js', import.meta.url).href
)

it('a text that others wrote cannot turn the direction of what an operator reads [operate-1]', () => {
  const texts = { prompt: 'a\nb\u202Egpj.exe', others: ['\u2066', '\u0000', '\u001B[2J'] }
  expect(page.visibleJson(JSON.stringify(texts))).toEqual({
    prompt: 'a\nb⟨U+202E⟩gpj.exe',
    others: ['⟨U+2066⟩', '⟨U+0000⟩', '⟨U+001B⟩[2J'],
  })
  expect(page.visibleJson('<html>')).toBeUndefined()
})
