import type { createDescribedAnswers, SeenAnswer } from './describedAnswers.ts'

type Described = ReturnType<typeof createDescribedAnswers>

/** By whether the answer is the admin API's. */
const described = new Map<boolean, Described>()
let faults: string[] = []

// Once per process: test files that share one also share this module.
const fetchAnswer = globalThis.fetch
globalThis.fetch = async (...[input, init]: Parameters<typeof fetch>) => {
  const answer = await fetchAnswer(input, init)
  const method = input instanceof Request ? input.method : (init?.method ?? 'GET')
  if (isOurs(answer) || isAdmin(answer)) await check(method, answer)
  return answer
}

/** Returns how the answers since the last call differ from the OpenAPI document. */
export function takeAnswerFaults(): readonly string[] {
  const found = faults
  faults = []
  return found
}

/** Whether the API made the answer. No other server of the tests exposes this header to pages. */
function isOurs({ headers }: Response): boolean {
  return headers.get('access-control-expose-headers')?.includes('Idempotent-Replayed') === true
}

function isAdmin({ url, headers }: Response): boolean {
  return new URL(url).pathname.startsWith('/admin/') && headers.has('x-request-id')
}

async function check(method: string, answer: Response): Promise<void> {
  const { url, status, headers } = answer
  const path = new URL(url).pathname
  const seen: SeenAnswer = { method: method.toUpperCase(), path, status, headers }
  // Most test files fetch nothing from the API. They need not load the document.
  const description = await describedBy(isAdmin(answer))
  report(seen, description.head(seen))
  if (headers.get('content-type') !== 'application/json') return
  checkBodyWhenRead(seen, answer, description)
}

async function describedBy(byAdmin: boolean): Promise<Described> {
  const known = described.get(byAdmin)
  if (known !== undefined) return known
  const { createDescribedAnswers } = await import('./describedAnswers.ts')
  const document = byAdmin
    ? (await import('../../../src/admin/operatorRoutes.ts')).createAdminDocument()
    : undefined
  const made = createDescribedAnswers(document)
  described.set(byAdmin, made)
  return made
}

function checkBodyWhenRead(seen: SeenAnswer, answer: Response, description: Described): void {
  const checked = (text: string) => {
    if (text !== '') report(seen, description.body(seen, JSON.parse(text)))
    return text
  }
  const readText = answer.text.bind(answer)
  const readBytes = answer.arrayBuffer.bind(answer)
  Object.assign(answer, {
    text: async () => checked(await readText()),
    json: async () => JSON.parse(checked(await readText())),
    arrayBuffer: async () => {
      const bytes = await readBytes()
      checked(Buffer.from(bytes).toString())
      return bytes
    },
  })
}

function report({ method, path, status }: SeenAnswer, found: readonly string[]): void {
  faults.push(...found.map((fault) => `${method} ${path} ${status}: ${fault}`))
}
