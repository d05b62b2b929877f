import { html } from 'htm/preact'
import { followed } from './apiDocument.js'

/** @import { Schema } from './apiDocument.js' */

/** The deepest field that is shown. What is deeper is in openapi.json. */
const depthMax = 5

/**
 * The fields of an object, with the fields inside them.
 * @param {{
 *   readonly schema: Schema,
 *   readonly schemas: Readonly<Record<string, Schema>>,
 *   readonly depth?: number,
 * }} props
 */
export function Fields({ schema: given, schemas, depth = 0 }) {
  const schema = followed(given, schemas)
  if (depth > depthMax) return null
  if (schema.anyOf) {
    const objects = schema.anyOf.filter((each) => followed(each, schemas).properties)
    return objects.map(
      (each, i) => html`
        <p class="hint" key=${i}>${i === 0 ? 'Either' : 'Or'}</p>
        <${Fields} schema=${each} schemas=${schemas} depth=${depth + 1} />
      `,
    )
  }
  if (schema.items)
    return html`<${Fields} schema=${schema.items} schemas=${schemas} depth=${depth} />`
  if (!schema.properties) return null
  return html`
    <dl class="fields">
      ${Object.entries(schema.properties).map(
        ([name, field]) => html`
          <${Field}
            key=${name}
            name=${name}
            schema=${field}
            required=${schema.required?.includes(name) ?? false}
            schemas=${schemas}
            depth=${depth}
          />
        `,
      )}
    </dl>
  `
}

/**
 * One field or parameter.
 * @param {{
 *   readonly name: string,
 *   readonly schema: Schema,
 *   readonly required: boolean,
 *   readonly schemas: Readonly<Record<string, Schema>>,
 *   readonly depth: number,
 * }} props
 */
export function Field({ name, schema: given, required, schemas, depth }) {
  const schema = followed(given, schemas)
  return html`
    <dt>
      <code>${name}</code> <span class="hint">${typeText(schema)}${required && ', required'}</span>
    </dt>
    <dd>
      <${Words} text=${given.description ?? schema.description} />
      <${Fields} schema=${schema} schemas=${schemas} depth=${depth + 1} />
    </dd>
  `
}

/**
 * Returns what a value may be, such as `integer, 1 to 60`.
 * @param {Schema} schema
 * @returns {string}
 */
function typeText({ type = '', format, items, minimum, maximum, maxLength, maxItems, ...schema }) {
  if (schema.enum) return schema.enum.map(String).join(' | ')
  if (schema.const !== undefined) return String(schema.const)
  if (items) return `array${maxItems === undefined ? '' : `, at most ${maxItems}`}`
  return [
    [type].flat().join(' | '),
    format,
    minimum !== undefined &&
      (maximum === undefined ? `from ${minimum}` : `${minimum} to ${maximum}`),
    maxLength !== undefined && `at most ${maxLength} characters`,
  ]
    .filter(Boolean)
    .join(', ')
}

/**
 * A text of the document, with what stands between backticks as code.
 * @param {{ readonly text: string | undefined }} props
 */
export function Words({ text = '' }) {
  return text
    .split('`')
    .map((part, i) => (i % 2 === 1 ? html`<code key=${i}>${part}</code>` : part))
}
