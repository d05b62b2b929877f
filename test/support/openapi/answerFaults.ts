import type { createDescribedAnswers, SeenAnswer } from './describedAnswers.ts'

let described: ReturnType<typeof createDescribedAnswers> | undefined
let faults: string[] = []

// Once per process: test files that share one also share this module.
const fetchAnswer = globalThis.fetch
globalThis.fetch = async (...[input, init]: Parameters<typeof fetch>) => {
  const answer = await fetchAnswer(input, init)
  const method = input instanceof Request ? input.method : (init?.method ?? 'GET')
  if (isOurs(answer)) await check(method, answer)
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

async function check(method: string, answer: Response): Promise<void> {
  const { url, status, headers } = answer
  const path = new URL(url).pathname
  const seen: SeenAnswer = { method: method.toUpperCase(), path, status, headers }
  // Most test files fetch nothing from the API. They need not load the document.
  described ??= (await import('./describedAnswers.ts')).createDescribedAnswers()
  report(seen, described.head(seen))
  if (headers.get('content-type') === 'application/json') checkBodyWhenRead(seen, answer)
}

function checkBodyWhenRead(seen: SeenAnswer, answer: Response): void {
  const readText = answer.text.bind(answer)
  const readBytes = answer.arrayBuffer.bind(answer)
  Object.assign(answer, {
    text: async () => checked(seen, await readText()),
    json: async () => JSON.parse(checked(seen, await readText())),
    arrayBuffer: async () => {
      const bytes = await readBytes()
      checked(seen, Buffer.from(bytes).toString())
      return bytes
    },
  })
}

function checked(seen: SeenAnswer, text: string): string {
  if (text !== '') report(seen, described?.body(seen, JSON.parse(text)) ?? [])
  return text
}

function report({ method, path, status }: SeenAnswer, found: readonly string[]): void {
  faults.push(...found.map((fault) => `${method} ${path} ${status}: ${fault}`))
}
