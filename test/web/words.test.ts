import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const web = new URL('../../src/web/', import.meta.url)
const languages = readdirSync(new URL('shared/words/', web))
const others = languages.filter((file) => file !== 'en.js')
const scripts = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /^(?:playground|console|shared)\/(?!.*words\/).*\.js$/.test(name),
)

/** Names in templates that are the same in every language. */
const names = /Darkroom|sk-…/g

type Words = { readonly [name: string]: string | Words | ((...given: never[]) => string) }

async function wordsOf(file: string): Promise<Words> {
  const { words }: { readonly words: Words } = await import(
    new URL(`shared/words/${file}`, web).href
  )
  return words
}

/** Returns the words by their paths, such as `['signIn.open', 'Open']`. */
function entriesOf(words: Words, path = ''): readonly (readonly [string, unknown])[] {
  return Object.entries(words).flatMap(([name, value]) =>
    typeof value === 'object'
      ? entriesOf(value, `${path}${name}.`)
      : [[path + name, value] as const],
  )
}

/** Returns the parameters of a function by their names, and no names for a text. */
function namesIn(word: unknown): string | readonly string[] {
  if (typeof word !== 'function') return typeof word
  const [parameters = ''] = String(word)
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .split('=>')
  return parameters.match(/\w+/g) ?? []
}

/** Words between tags, beside expressions, and in attributes that people see or hear. */
const written =
  /(?:(?<!=)>|\})[^<>{}$`;=()"]*\p{L}{2}[^<>{}$`;=()"]*(?:<|\$\{)|\b(?:aria-label|title|placeholder|alt)="[^"$]*\p{L}{2}/gu

describe('the words of the pages', () => {
  it.each(others)(
    '%s has every word of English with its parameters, and none in English',
    async (file) => {
      const [words, english] = [entriesOf(await wordsOf(file)), entriesOf(await wordsOf('en.js'))]
      const kinds = (each: typeof words) => each.map(([path, word]) => [path, namesIn(word)])
      expect(kinds(words)).toEqual(kinds(english))
      expect(words.filter(([, word], i) => word === english[i]?.[1])).toEqual([])
    },
  )

  it('are offered in each language that has a file', () => {
    const code = readFileSync(new URL('shared/words.js', web), 'utf8')
    expect([...code.matchAll(/'\.\/words\/(.*)'/g)].map(([, file]) => file)).toEqual(languages)
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
