import { exampleBody } from './apiDocument.js'
import { clientSamplesOf } from './clientSamples.js'

/** @import { Operation } from './apiDocument.js' */

/**
 * Returns a request as programs: the names are those of the languages, with the client where it has the operation. Every
 * program takes the API key and what is in braces in the path from the environment: `{task_id}` is `TASK_ID`. A test
 * runs each of them.
 * @param {Operation} operation
 * @param {string} base the address of the service, without a slash at its end
 */
export function samplesOf(operation, base) {
  const { id, method, path, needsKey, parameters, body } = operation
  // Where the query is required it has a signature, so the whole address comes from a record.
  const isSigned = parameters.some((each) => each.in === 'query' && each.required)
  const address = isSigned ? '{asset_url}' : base + path
  const isForm = body !== undefined && body.type !== 'application/json'
  const headers = {
    ...(body && !isForm ? { 'Content-Type': body.type } : {}),
    ...(parameters.some(({ name }) => name === 'Idempotency-Key')
      ? { 'Idempotency-Key': `${id}-1842` }
      : {}),
  }
  const sample = {
    method,
    address,
    needsKey,
    headers,
    isForm,
    isSigned,
    data: exampleBody(operation),
  }
  return {
    curl: curlOf(sample),
    ...(clientSamplesOf(operation, { base, data: sample.data }) ?? {
      TypeScript: typeScriptOf(sample),
      Python: pythonOf(sample),
    }),
  }
}

/**
 * @typedef {{
 *   readonly method: string,
 *   readonly address: string,
 *   readonly needsKey: boolean,
 *   readonly headers: Readonly<Record<string, string>>,
 *   readonly isForm: boolean,
 *   readonly isSigned: boolean,
 *   readonly data: unknown,
 * }} Sample
 */

/** @param {Sample} sample */
function curlOf({ method, address, needsKey, headers, isForm, isSigned, data }) {
  const options = [
    ...(needsKey ? ['-H "Authorization: Bearer $DARKROOM_API_KEY"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(isForm
      ? [...fieldsOf(data).map((field) => `-F '${field.join('=')}'`), '-F image=@source.png']
      : []),
    ...(data === undefined || isForm ? [] : [`-d '${JSON.stringify(data, null, 2)}'`]),
    ...(isSigned ? ['-o image.png'] : []),
  ]
  const verb = method === 'GET' ? '' : ` -X ${method}`
  const url = variablesIn(address, (name) => `$${name}`)
  // An image may redirect to a bucket.
  const follow = isSigned ? 'L' : ''
  return [`curl -sS${follow} --fail-with-body${verb} "${url}"`, ...options].join(' \\\n  ')
}

/** @param {Sample} sample */
function typeScriptOf({ method, address, needsKey, headers, isForm, isSigned, data }) {
  const url = variablesIn(address, (name) => `\${process.env.${name}}`)
  const fields = fieldsOf(data).map(([name, value]) => `form.set('${name}', '${value}')\n`)
  const sent = [
    ...(needsKey ? ['Authorization: `Bearer ${process.env.DARKROOM_API_KEY}`'] : []),
    ...Object.entries(headers).map(([name, value]) => `'${name}': '${value}'`),
  ]
  const body = isForm
    ? 'form'
    : `JSON.stringify(${JSON.stringify(data, null, 2)})`.replaceAll('\n', '\n  ')
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',\n`]),
    ...(sent.length > 0 ? [`  headers: {\n    ${sent.join(',\n    ')},\n  },\n`] : []),
    ...(data === undefined ? [] : [`  body: ${body},\n`]),
  ]
  const given = options.length > 0 ? `, {\n${options.join('')}}` : ''
  return [
    isForm ? "import { readFile } from 'node:fs/promises'\n\n" : '',
    isSigned ? "import { writeFile } from 'node:fs/promises'\n\n" : '',
    isForm ? `const form = new FormData()\n${fields.join('')}` : '',
    isForm ? "form.set('image', new Blob([await readFile('source.png')]), 'source.png')\n" : '',
    `const answer = await fetch(\`${url}\`${given})\n`,
    'if (!answer.ok) throw new Error(await answer.text())\n',
    isSigned
      ? "await writeFile('image.png', Buffer.from(await answer.arrayBuffer()))"
      : 'console.log(await answer.text())',
  ].join('')
}

/** @param {Sample} sample */
function pythonOf({ method, address, needsKey, headers, isForm, isSigned, data }) {
  const url = variablesIn(address, (name) => `{os.environ['${name}']}`)
  const sent = [
    ...(needsKey ? [`"Authorization": f"Bearer {os.environ['DARKROOM_API_KEY']}"`] : []),
    ...Object.entries(headers).map(([name, value]) => `"${name}": "${value}"`),
  ]
  const body = JSON.stringify(data, null, 4)?.replaceAll('\n', '\n    ')
  const options = [
    ...(sent.length > 0 ? [`    headers={\n        ${sent.join(',\n        ')},\n    },\n`] : []),
    ...(data === undefined ? [] : [`    ${isForm ? 'data' : 'json'}=${body},\n`]),
    ...(isForm ? ['    files={"image": open("source.png", "rb")},\n'] : []),
    // An image may redirect to a bucket.
    ...(isSigned ? ['    follow_redirects=True,\n'] : []),
  ]
  return [
    'import os\n\nimport httpx\n\n',
    `answer = httpx.${method.toLowerCase()}(\n    f"${url}",\n${options.join('')}    timeout=300,\n)\n`,
    'answer.raise_for_status()\n',
    isSigned ? 'open("image.png", "wb").write(answer.content)' : 'print(answer.text)',
  ].join('')
}

/**
 * Returns an address with its `{names}` written as the variables of a language.
 * @param {string} address
 * @param {(name: string) => string} written
 */
function variablesIn(address, written) {
  return address.replaceAll(/\{(\w+)\}/g, (_, /** @type {string} */ name) =>
    written(name.toUpperCase()),
  )
}

/**
 * @param {unknown} data
 * @returns {readonly (readonly [name: string, value: string])[]}
 */
function fieldsOf(data) {
  /** @type {Readonly<Record<string, unknown>>} */
  const fields = Object(data)
  return Object.entries(fields).map(([name, value]) => [name, String(value)])
}
