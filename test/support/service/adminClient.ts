/** The secrets of the two operators' keys of the calm service, and their ids in the audit. */
export const adminSecrets = {
  boss: 'key-of-an-operator-in-tests',
  guest: 'key-of-a-viewer-in-the-tests',
} as const

/** The value of ADMIN_KEYS. */
export const adminKeys = `boss:${adminSecrets.boss},guest:${adminSecrets.guest}:viewer`

/** Creates a client of the admin API, with the operator's key unless another is named. */
export function createAdminClient(url: string, secret: string = adminSecrets.boss) {
  async function send(method: string, path: string, body?: unknown, headers = {}) {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${secret}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type') === 'application/json'
    const json: unknown = isJson ? JSON.parse(text) : undefined
    return { status: answer.status, headers: answer.headers, text, json: Object(json) }
  }
  return {
    url,
    send,
    get: (path: string, headers?: Record<string, string>) => send('GET', path, undefined, headers),
    post: (path: string, body?: unknown) => send('POST', path, body),
    patch: (path: string, body: unknown) => send('PATCH', path, body),
  }
}
