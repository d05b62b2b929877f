/**
 * What the clients for TypeScript and Python call an operation. `rows` names what its answer is iterated over as.
 * @type {Readonly<Record<string, { readonly call: string, readonly rows?: string }>>}
 */
const calls = {
  submitTask: { call: 'tasks.create' },
  estimateTask: { call: 'estimate' },
  getTask: { call: 'tasks.get' },
  getTaskEvents: { call: 'tasks.follow', rows: 'record' },
  getTaskResult: { call: 'tasks.result' },
  cancelTask: { call: 'tasks.cancel' },
  deleteTask: { call: 'tasks.delete' },
  listTasks: { call: 'tasks.list', rows: 'task' },
  listModels: { call: 'models.list' },
  getAccount: { call: 'account.get' },
  getUsage: { call: 'usage.get' },
  registerWebhook: { call: 'webhooks.create' },
  listWebhooks: { call: 'webhooks.list', rows: 'webhook' },
  getWebhook: { call: 'webhooks.get' },
  deleteWebhook: { call: 'webhooks.delete' },
  rotateWebhookSecret: { call: 'webhooks.rotate' },
  enableWebhook: { call: 'webhooks.enable' },
  testWebhook: { call: 'webhooks.test' },
  listDeliveries: { call: 'webhooks.deliveries', rows: 'delivery' },
  redeliver: { call: 'webhooks.redeliver' },
}

/**
 * Returns a request as programs with the clients, or `undefined` when they leave the operation to others. They take the
 * API key from the environment themselves.
 * @param {{ readonly id: string, readonly path: string }} operation
 * @param {{ readonly base: string, readonly data: unknown }} given
 */
export function clientSamplesOf({ id, path }, { base, data }) {
  const known = calls[id]
  if (known === undefined) return undefined
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name.toUpperCase())
  const call = `darkroom.${known.call}`
  return {
    TypeScript: typeScriptOf({ ...known, call, names, data }, base),
    Python: pythonOf({ ...known, call, names, data }, base),
  }
}

/**
 * @typedef {{
 *   readonly call: string,
 *   readonly rows?: string,
 *   readonly names: readonly string[],
 *   readonly data: unknown,
 * }} ClientCall
 */

/** @type {(sample: ClientCall, base: string) => string} */
function typeScriptOf({ call, rows, names, data }, base) {
  const given = [...names, ...(data === undefined ? [] : [literal(data)])]
  const called = `${call}(${given.join(', ')})`
  return [
    "import { Darkroom } from 'darkroom-client'\n\n",
    `const darkroom = new Darkroom({ baseUrl: '${base}' })\n`,
    names.length === 0 ? '' : `const { ${names.join(" = '', ")} = '' } = process.env\n`,
    rows === undefined
      ? `console.log(await ${called})`
      : `for await (const ${rows} of ${called}) console.log(${rows})`,
  ].join('')
}

/** @type {(data: unknown) => string} */
function literal(data) {
  return JSON.stringify(data, null, 2).replaceAll(/^( *)"(\w+)":/gm, '$1$2:')
}

/** @type {(sample: ClientCall, base: string) => string} */
function pythonOf({ call, rows, names, data }, base) {
  /** @type {Readonly<Record<string, unknown>>} */
  const given = JSON.parse(JSON.stringify(data ?? {}))
  const fields = Object.entries(given).map(
    ([name, value]) =>
      `    ${name}=${JSON.stringify(value, null, 4).replaceAll('\n', '\n    ')},\n`,
  )
  const ids = names.map((name) => `os.environ["${name}"]`).join(', ')
  const called = fields.length === 0 ? `${call}(${ids})` : `${call}(\n${fields.join('')})`
  return [
    names.length === 0 ? '' : 'import os\n\n',
    'from darkroom_client import Darkroom\n\n',
    `darkroom = Darkroom(base_url="${base}")\n`,
    rows === undefined ? `print(${called})` : `for ${rows} in ${called}:\n    print(${rows})`,
  ].join('')
}
