import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { defined } from '../../src/domain/defined.ts'
import type { TaskRecord } from '../../test/support/clients/client.ts'
import type { Behaviour } from '../../test/support/webhooks/receiver.ts'
import type { Seeded } from '../../test/support/seeded.ts'
import type { Entry } from './history.ts'
import { digestOf } from './history.ts'
import { seenOf } from './owner.ts'

type Options = {
  readonly port: number
  /** The secret of each webhook, by the path of its address. */
  readonly secrets: ReadonlyMap<string, string>
  readonly chance: Seeded
  readonly add: (entry: Entry) => void
  /** Called when `/over` is asked for. */
  readonly onOver: () => void
}

/** What a receiver in trouble does. 410 is left out: it would disable the webhook for good. */
const behaviours: readonly Behaviour[] = [
  200,
  500,
  503,
  301,
  404,
  // It never answers.
  () => {},
  (request) => request.socket.destroy(),
  (_request, response) => {
    // It answers byte by byte, and never ends its answer.
    response.writeHead(200, { 'content-length': '1000000' })
    const timer = setInterval(() => response.write('x'), 50)
    response.once('close', () => clearInterval(timer))
  },
  (_request, response) => {
    // It closes in the middle of its answer.
    response.writeHead(503, { 'content-length': '100' }).write('half')
    setTimeout(() => response.destroy(), 20)
  },
]

/** Starts a receiver of webhooks that fails in every way until `/heal` is asked for. */
export function startReceiver({ port, secrets, chance, add, onOver }: Options): void {
  let isHealed = false
  const take = (request: IncomingMessage, response: ServerResponse, body: string) => {
    const { url = '', headers } = request
    if (url === '/heal') isHealed = true
    if (url === '/over') onOver()
    const behaviour = isHealed ? 200 : chance.pick(behaviours)
    if (typeof behaviour === 'number') response.writeHead(behaviour).end()
    else behaviour(request, response, body)
    if (body === '') return
    const hook = url.slice(1)
    const event: { type: string; data: TaskRecord } = JSON.parse(body)
    const of = event.type.startsWith('task.')
      ? { task: event.data.task_id, record: seenOf(event.data) }
      : {}
    const status = response.headersSent ? response.statusCode : undefined
    const told = { ...of, status, refused: refusalOf(secrets.get(hook), headers, body) }
    const [id, digest] = [String(headers['webhook-id']), digestOf(body)]
    add({
      type: 'delivery',
      at: Date.now(),
      hook,
      id,
      event: event.type,
      body: digest,
      ...defined(told),
    })
  }
  createServer((request, response) => {
    response.on('error', () => {})
    void text(request)
      .then((body) => take(request, response, body))
      .catch(() => {})
  }).listen(port)
}

/** Returns why the package for receivers refuses a delivery. The age does not count: clocks are wrong on purpose. */
function refusalOf(
  secret = '',
  headers: Readonly<Record<string, unknown>>,
  body: string,
): string | undefined {
  const texts = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, String(value)]),
  )
  try {
    new Webhook(secret).verify(body, texts)
    return undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return reason.includes('timestamp') ? undefined : reason
  }
}
