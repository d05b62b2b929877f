// node floorServer.ts JSON serves the least that each part of Darkroom can cost, in Koa as Darkroom's API is. It also
// runs the worker of the bare workflow. The argument is a `FloorSettings`.
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'
import Koa from 'koa'
import { Pool } from 'pg'
import { Agent, request } from 'undici'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { installRuntime } from '../../src/temporal/worker/runtime.ts'
import { collect } from '../../test/support/byteStreams.ts'
import { paddedPng } from '../../test/support/images.ts'
import { tell } from './script.ts'

export type FloorSettings = {
  readonly databaseUrl: string
  readonly temporalAddress: string
  readonly namespace: string
  readonly upstreamUrl: string
  /** The size of the file that it serves. */
  readonly fileBytes: number
}

const settings: FloorSettings = JSON.parse(process.argv[2] ?? '{}')
const { temporalAddress: address, namespace } = settings
const taskQueue = 'bench-bare'
const limitMs = 60_000
const pool = new Pool({ connectionString: settings.databaseUrl, max: 24 })
const agent = new Agent({ connections: 256 })
const folder = await mkdtemp(join(tmpdir(), 'darkroom-floor-'))
const file = join(folder, 'image.png')
await writeFile(file, paddedPng(settings.fileBytes, 7))
const temporal = connectTemporal({ address, namespace })
let count = 0

/** Starts a workflow with one empty activity. `execute` waits for its result too. */
async function bareWorkflow(how: 'start' | 'execute'): Promise<void> {
  count += 1
  const options = { workflowId: `bare-${process.pid}-${count}`, taskQueue, args: [] }
  await temporal.withDeadline(limitMs, () => temporal.client.workflow[how]('bare', options))
}

/** Only reads one row by its primary key. */
async function row(taskId: string): Promise<unknown> {
  const text = 'select * from task where task_id = $1'
  return (await pool.query({ name: 'row', text, values: [taskId] })).rows[0]
}

/** Only forwards to the upstream, as a gateway does that stores nothing. */
async function forward(body: Buffer) {
  const answer = await request(`${settings.upstreamUrl}/v1/images/generations`, {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  return answer.body
}

const app = new Koa()
app.use(async (context) => {
  const [, route = '', taskId = ''] = context.path.split('/')
  switch (route) {
    case 'start':
    case 'execute':
      await bareWorkflow(route)
      context.body = 'done'
      return
    case 'row':
      context.body = await row(taskId)
      return
    case 'file':
      context.type = 'image/png'
      context.body = createReadStream(file)
      return
    case 'forward':
      context.type = 'application/json'
      context.body = await forward(await collect(context.req))
      return
    default:
      context.status = 404
  }
})
installRuntime({ log: () => {} })
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  namespace,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('bareWorkflow.ts', import.meta.url)),
  activities: { nothing: async () => {} },
})
void worker.run()
const server = app.listen(0, '127.0.0.1', () => tell(server.address()))
process.once('disconnect', () => {
  void rm(folder, { recursive: true, force: true }).then(() => process.exit())
})
