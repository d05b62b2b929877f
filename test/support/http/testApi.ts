import { once } from 'node:events'
import { connect } from 'node:net'
import { convertBlob } from '../../../src/bytes/convertImage.ts'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import { createApp } from '../../../src/http/apiApp.ts'
import { createServer } from '../../../src/http/server/server.ts'
import type { AccountReads } from '../../../src/store/accountReads.ts'
import type { ApiConfig, ApiDeps } from '../../../src/http/apiParts.ts'
import type { Observation } from '../../../src/http/middleware.ts'
import { listOf } from '../../../src/domain/lists/list.ts'
import { fail, succeed } from '../../../src/domain/result.ts'
import { createVariants } from '../../../src/tasks/variants.ts'
import type { WebhookService } from '../../../src/tasks/webhooks/webhookService.ts'
import { createMemoryBlobs } from '../blobs/memoryBlobs.ts'
import { createFakeTasks } from './fakeTasks.ts'
import { portOf } from '../upstream/testServers.ts'
import { useOpened } from '../useOpened.ts'

/** The HTTP server on a free port, with tasks and blobs in memory. */
export type TestApi = Awaited<ReturnType<typeof startTestApi>>

/** Starts the HTTP server with the given configuration and dependencies replaced. */
export async function startTestApi(changed: Partial<ApiConfig> = {}, deps: Partial<ApiDeps> = {}) {
  const blobs = createMemoryBlobs()
  const tasks = createFakeTasks(deps.blobs ?? blobs)
  const observed: Observation[] = []
  const reported: unknown[] = []
  const config: ApiConfig = {
    publicUrl: 'https://images.example.test',
    ingressLimitBytes: 4 * 1024 * 1024,
    syncDeadlineMs: 5_000,
    models: createModelTable(),
    publicPages: true,
    assetRedirect: false,
    ...changed,
  }
  const apiDeps: ApiDeps = {
    tasks: tasks.service,
    webhooks: noWebhooks,
    readTaskOfImage: tasks.readTaskOfImage,
    reads: fakeReads,
    blobs,
    variants: createVariants({
      blobs: deps.blobs ?? blobs,
      isUploadKept: async () => true,
      convert: convertBlob,
    }),
    config,
    signingKeys: [{ id: 'k1', secret: 'one' }],
    ready: async () => true,
    stopping: new AbortController().signal,
    observe: (seen) => observed.push(seen),
    reportError: (error) => reported.push(error),
    ...deps,
  }
  const server = createServer(createApp(apiDeps))
  const port = await portOf(server)
  const url = `http://127.0.0.1:${port}`

  /** Sends a request with the key `sk-a` unless `init` has another. */
  function send(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    if (!headers.has('Authorization')) headers.set('Authorization', 'Bearer sk-a')
    return fetch(`${url}${path}`, { ...init, headers })
  }

  return {
    url,
    port,
    server,
    tasks,
    blobs,
    observed,
    reported,
    send,
    postJson: (path: string, body: unknown, headers?: Record<string, string>) =>
      send(path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'Content-Type': 'application/json', ...headers },
      }),
    /** Writes the bytes unchanged and returns one complete answer, or everything until the server closes. */
    raw: (bytes: string) => exchange(port, bytes),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Starts a `TestApi` before the tests of the calling file, and closes it after them. */
export function useTestApi(
  changed?: Partial<ApiConfig>,
  deps?: Partial<ApiDeps>,
): Omit<TestApi, 'close'> {
  return useOpened(
    () => startTestApi(changed, deps),
    ({ close }) => close(),
    ['url', 'port', 'server', 'tasks', 'blobs', 'observed', 'reported', 'send', 'postJson', 'raw'],
  )
}

const noWebhook = async () => fail({ tag: 'webhook_not_found' } as const)

/** No account has a webhook, and none can be registered. */
const noWebhooks: WebhookService = {
  whyNotAddress: () => undefined,
  register: async () => fail({ tag: 'too_many_webhooks' }),
  list: async () => [],
  read: noWebhook,
  remove: noWebhook,
  rotate: noWebhook,
  enable: noWebhook,
  test: noWebhook,
  deliveries: async () => succeed(listOf([])),
  redeliver: noWebhook,
}

/** Every account has the name `test` and no credits. */
const fakeReads: AccountReads = {
  readAccount: async (accountId) => ({
    account_id: accountId,
    name: 'test',
    available: 0,
    held: 0,
    spent: 0,
    models: null,
    limits: { requests: null, live_tasks: null },
    alert_below: null,
    created_at: '2026-01-01T00:00:00Z',
  }),
  listOwnTasks: async () => listOf([]),
  readUsage: async () => ({
    start_time: '',
    end_time: '',
    data: [],
    total: { tasks: { succeeded: 0, failed: 0 }, credits: 0 },
  }),
}

async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1')
    if (isWhole(answer)) socket.destroy()
  })
  socket.on('error', () => {})
  socket.write(bytes)
  await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

function isWhole(answer: string): boolean {
  const [head = '', ...body] = answer.split('\r\n\r\n')
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  return length !== undefined && body.join('\r\n\r\n').length >= Number(length)
}
