import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const web = new URL('../../src/web/', import.meta.url)
const languages = readdirSync(new URL('shared/words/', web))
const scripts = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /^(?:playground|console|shared)\/(?!words)(?!.*words\/).*\.js$/.test(name),
)

/** Names in templates that are the same in every language. */
const names = /Darkroom|sk-…/g

/** Returns the kind of each word by its path, such as `['close', 'string']`. */
function kindsOf(words: object, path = ''): readonly (readonly [string, string])[] {
  return Object.entries(words).flatMap(([name, value]) =>
    typeof value === 'object'
      ? kindsOf(value, `${path}${name}.`)
      : [[`${path}${name}`, typeof value] as const],
  )
}

/** Words between tags, beside expressions, and in attributes that people see or hear. */
const written =
  /(?:(?<!=)>|\})[^<>{}$`;=()"]*\p{L}{2}[^<>{}$`;=()"]*(?:<|\$\{)|\b(?:aria-label|title|placeholder|alt)="[^"$]*\p{L}{2}/gu

describe('the words of the pages', () => {
  it.each(languages)('%s has every word', async (file) => {
    const url = new URL(`shared/words/${file}`, web).href
    const { words }: { readonly words: object } = await import(url)
    const english: { readonly words: object } = await import(
      new URL('shared/words/en.js', web).href
    )
    expect(kindsOf(words)).toEqual(kindsOf(english.words))
    expect(words).toHaveProperty('language', file.replace('.js', ''))
  })

  it('stand in no template of the playground and the console', () => {
    expect(scripts.length).toBeGreaterThan(40)
    const found = scripts.flatMap((name) => {
      const code = readFileSync(new URL(name, web), 'utf8').replaceAll(/\/\*[^]*?\*\//g, '')
      return [...code.replaceAll(names, '').matchAll(written)].map(([words]) => `${name}: ${words}`)
    })
    expect(found).toEqual([])
  })
})
