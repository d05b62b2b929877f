// node deploy/helm/readme.mjs
//
// Writes the list of values in the chart's README.md: one line for each key of values.yaml with a comment above it.
import { readFileSync, writeFileSync } from 'node:fs'

const file = (name) => new URL(`darkroom/${name}`, import.meta.url)

const rows = []
const path = []
let comment = []
for (const line of readFileSync(file('values.yaml'), 'utf8').split('\n')) {
  const [, text] = /^ *# (.+)$/.exec(line) ?? []
  if (text !== undefined) {
    comment.push(text)
    continue
  }
  const [, indent = '', key, value] = /^( *)([\w./-]+):(?: (.+))?$/.exec(line) ?? []
  if (key !== undefined) {
    path.splice(indent.length / 2, Infinity, key)
    const given = value === undefined ? '' : ` (\`${value}\`)`
    if (comment.length > 0) rows.push(`- \`${path.join('.')}\`${given}: ${comment.join(' ')}`)
  }
  comment = []
}
const page = readFileSync(file('README.md'), 'utf8')
const marked = /(<!-- values -->\n)[^]*(<!-- end of values -->)/
writeFileSync(
  file('README.md'),
  page.replace(marked, (_, from, to) => `${from}\n${rows.join('\n')}\n\n${to}`),
)
