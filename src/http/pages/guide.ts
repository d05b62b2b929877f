import { readFileSync } from 'node:fs'
import { Marked } from 'marked'

/** The files of docs/ for people who write clients, in the order in which they read them. */
const chapters = ['api.md', 'money.md']

/** Returns the guide of the page `/docs` as HTML. Throws the system's error when a file of it is missing. */
export function guideHtml(): string {
  const texts = chapters.map((name) =>
    readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8'),
  )
  const html = texts.map((text) => marked.parse(text, { async: false })).join('\n')
  // What scrolls can be reached with the keyboard.
  return html
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="scroll" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
}

/** Headings begin one level lower, because the page has a title. */
const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth + 1} id="${idOf(text)}">${this.parser.parseInline(tokens)}</h${depth + 1}>\n`
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens)
      const target = targetOf(href)
      return target === undefined ? text : `<a href="${encodeURI(target)}">${text}</a>`
    },
  },
})

/** Returns the address of a link on the page, or `undefined` for a file that the page does not have. */
function targetOf(href: string): string | undefined {
  if (/^(?:https?:|#)/.test(href)) return href
  const [file = '', heading = ''] = href.split('#')
  return chapters.includes(file) ? `#${heading}` : undefined
}

/** Returns the id of a heading, made as GitHub makes it, so that the links of the files work on both. */
function idOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}
