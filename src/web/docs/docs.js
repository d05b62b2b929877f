import { html, render } from 'htm/preact'
import { useEffect } from 'preact/hooks'
import { operationsOf } from './apiDocument.js'
import { Contents } from './contents.js'
import { Operation } from './operation.js'
import { Words } from './fields.js'

/** @import { ApiDocument } from './apiDocument.js' */

/**
 * Every operation by group. The one that the address of the page names is open.
 * @param {{ readonly document: ApiDocument }} props
 */
function Reference({ document: description }) {
  const operations = operationsOf(description)
  useEffect(() => {
    const reveal = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
      if (target instanceof HTMLDetailsElement) target.open = true
      target?.scrollIntoView()
    }
    reveal()
    addEventListener('hashchange', reveal)
    return () => removeEventListener('hashchange', reveal)
  }, [])
  return html`
    <h2 id="reference-title">Reference</h2>
    ${description.tags.map(
      ({ name, description: about }) => html`
        <section key=${name} aria-label=${name}>
          <h3>${name}</h3>
          <p><${Words} text=${about} /></p>
          ${operations
            .filter(({ tag }) => tag === name)
            .map(
              (operation) =>
                html`<${Operation}
                  key=${operation.id}
                  operation=${operation}
                  schemas=${description.components.schemas}
                />`,
            )}
        </section>
      `,
    )}
  `
}

/** Fetches the document and shows it in the place of the notice. */
async function show() {
  const [reference, contents] = ['reference', 'contents'].map((id) => document.getElementById(id))
  if (!reference || !contents) return
  const answer = await fetch('openapi.json').catch(() => undefined)
  if (!answer?.ok) {
    reference.textContent = 'openapi.json cannot be read. Reload the page.'
    return
  }
  /** @type {ApiDocument} */
  const description = await answer.json()
  reference.replaceChildren()
  render(html`<${Contents} operations=${operationsOf(description)} />`, contents)
  render(html`<${Reference} document=${description} />`, reference)
}

void show()
