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

/** Returns the texts of templates with markup, without what they take from expressions. */
function textsOf(script: string): readonly string[] {
  const texts: string[] = []
  const template = (start: number): number => {
    let text = ''
    for (let at = start; at < script.length;) {
      if (script[at] === '`') {
        texts.push(text)
        return at + 1
      }
      if (script.startsWith('${', at)) {
        at = expression(at + 2)
        text += '{}'
      } else text += script[at++]
    }
    throw new Error('Bug: a template without an end')
  }
  const expression = (start: number): number => {
    let depth = 0
    for (let at = start; at < script.length;) {
      if (script[at] === '}' && depth === 0) return at + 1
      if (script[at] === '{') depth += 1
      if (script[at] === '}') depth -= 1
      if (script.startsWith('html`', at)) at = template(at + 5)
      else if (script[at] === '`') at = skipped(at + 1)
      else at += 1
    }
    throw new Error('Bug: an expression without an end')
  }
  /** Passes a template without markup, such as a path. */
  const skipped = (start: number): number => {
    for (let at = start; at < script.length;) {
      if (script[at] === '`') return at + 1
      if (script.startsWith('${', at)) at = expression(at + 2)
      else at += 1
    }
    throw new Error('Bug: a template without an end')
  }
  for (let at = script.indexOf('html`'); at >= 0; at = script.indexOf('html`', at))
    at = template(at + 5)
  return texts
}

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
    const found = scripts.flatMap((name) =>
      textsOf(readFileSync(new URL(name, web), 'utf8')).flatMap((text) => {
        const attributes = [...text.matchAll(/(?:aria-label|title|placeholder|alt)="([^"]*)"/g)]
        const shown = [text.replaceAll(/<[^>]*>/g, ' '), ...attributes.map(([, value]) => value)]
        const words =
          shown
            .join(' ')
            .replaceAll(names, '')
            .match(/\p{L}{2,}/gu) ?? []
        return words.map((word) => `${name}: ${word}`)
      }),
    )
    expect(found).toEqual([])
  })
})
