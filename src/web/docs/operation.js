import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { Field, Fields, Words } from './fields.js'
import { samplesOf } from './samples.js'
import { SendForm } from './sendForm.js'

/** @import * as Api from './apiDocument.js' */

/**
 * An operation. What it says is drawn when it is opened for the first time.
 * @param {{
 *   readonly operation: Api.Operation,
 *   readonly schemas: Readonly<Record<string, Api.Schema>>,
 * }} props
 */
export function Operation({ operation, schemas }) {
  const [opened, setOpened] = useState(false)
  const { id, method, path, summary } = operation
  return html`
    <details
      class="operation"
      id=${id}
      onToggle=${(/** @type {{ currentTarget: HTMLDetailsElement }} */ { currentTarget }) =>
        setOpened(opened || currentTarget.open)}
    >
      <summary>
        <b class="method">${method}</b> <code>${path}</code> <span class="soft">${summary}</span>
      </summary>
      ${opened && html`<${Content} operation=${operation} schemas=${schemas} />`}
    </details>
  `
}

/**
 * @param {{
 *   readonly operation: Api.Operation,
 *   readonly schemas: Readonly<Record<string, Api.Schema>>,
 * }} props
 */
function Content({ operation, schemas }) {
  const { description, parameters, body, answers, needsKey } = operation
  const errors = answers.filter(([, answer]) => answer['x-error-codes'])
  const successes = answers.filter((each) => !errors.includes(each))
  return html`
    <div class="content">
      <p><${Words} text=${description} /> ${needsKey ? '' : html`<b>Needs no API key.</b>`}</p>
      <${Samples} operation=${operation} />
      <${SendForm} operation=${operation} />
      ${
        parameters.length > 0 &&
        html`
          <h4>Parameters</h4>
          <dl class="fields">
            ${parameters.map(
              ({ in: place, name, schema, required = false }) =>
                html`<${Field}
                  key=${name}
                  name=${place === 'header' ? `${name}:` : name}
                  schema=${schema}
                  required=${required}
                  schemas=${schemas}
                  depth=${0}
                />`,
            )}
          </dl>
        `
      }
      ${
        body &&
        html`
          <h4>Body <span class="hint">${body.type}</span></h4>
          <${Fields} schema=${body.schema} schemas=${schemas} />
        `
      }
      ${successes.map(
        ([status, { description: about, content = {} }]) => html`
          <h4 key=${status}>
            Answer ${status} <span class="hint">${Object.keys(content).join(', ')}</span>
          </h4>
          <p><${Words} text=${about} /></p>
          ${Object.values(content)
            .slice(0, 1)
            .map(({ schema }) => html`<${Fields} schema=${schema} schemas=${schemas} />`)}
        `,
      )}
      <h4>Errors</h4>
      <dl class="fields">
        ${errors.map(
          ([status, answer]) => html`
            <dt key=${status}>${status}</dt>
            <dd>
              ${answer['x-error-codes']?.map((code) => html`<code key=${code}>${code}</code> `)}
            </dd>
          `,
        )}
      </dl>
    </div>
  `
}

/**
 * The same request in three languages.
 * @param {{ readonly operation: Api.Operation }} props
 */
function Samples({ operation }) {
  const samples = samplesOf(operation, new URL('.', document.baseURI).href.slice(0, -1))
  const [language, setLanguage] = useState(/** @type {keyof typeof samples} */ ('curl'))
  const choices = /** @type {const} */ (['curl', 'TypeScript', 'Python'])
  return html`
    <div class="samples">
      <p class="actions">
        ${choices.map(
          (each) => html`
            <button
              type="button"
              key=${each}
              class="quiet"
              aria-pressed=${each === language}
              onClick=${() => setLanguage(each)}
            >
              ${each}
            </button>
          `,
        )}
      </p>
      <pre tabindex="0" role="region" aria-label="Sample"><code>${samples[language]}</code></pre>
    </div>
  `
}
