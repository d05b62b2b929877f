import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Marked } from 'marked'

/** The files of docs/ for people who write clients, in the order in which they read them. */
const chapters = ['api.md', 'money.md']

/** Returns the guide of the page `/docs` as HTML. Throws the system's error when a file of it is missing. */
export function guideHtml(): string {
  const texts = chapters.map((name) =>
    readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8'),
  )
  return texts.map((text) => marked.parse(text, { async: false })).join('\n')
}

/** Headings begin one level lower, because the page has a title. What scrolls can be reached with the keyboard. */
const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth + 1} id="${idOf(text)}">${this.parser.parseInline(tokens)}</h${depth + 1}>\n`
    },
    code({ text }) {
      return `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`
    },
    table(token) {
      const head = token.header.map((cell) => `<th>${this.parser.parseInline(cell.tokens)}</th>`)
      const rows = token.rows.map((row) => {
        const cells = row.map((cell) => `<td>${this.parser.parseInline(cell.tokens)}</td>`)
        return `<tr>${cells.join('')}</tr>`
      })
      return (
        `<div class="scroll" tabindex="0"><table><thead><tr>${head.join('')}</tr></thead>` +
        `<tbody>${rows.join('')}</tbody></table></div>\n`
      )
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens)
      const target = targetOf(href)
      return target === undefined ? text : `<a href="${escaped(target)}">${text}</a>`
    },
  },
})

/** Returns the address of a link on the page, or `undefined` for a file that the page does not have. */
function targetOf(href: string): string | undefined {
  if (/^(?:https?:|#)/.test(href)) return href
  const [file = '', heading] = href.split('#')
  if (!chapters.includes(file)) return undefined
  return `#${heading ?? titleIdOf(file)}`
}

function titleIdOf(file: string): string {
  const text = readFileSync(new URL(`../../../docs/${file}`, import.meta.url), 'utf8')
  return idOf(/^# (.+)$/m.exec(text)?.[1] ?? basename(file, '.md'))
}

/** Returns the id of a heading, made as GitHub makes it, so that the links of the files work on both. */
function idOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
