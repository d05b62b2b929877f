// node floorServer.ts serves the least that each part of Darkroom can cost, in Koa as Darkroom's API is. The
// argument is a JSON object: see `FloorSettings`.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Koa from 'koa'
import { Pool } from 'pg'
import { Agent, request } from 'undici'
import { collect } from '../../test/support/byteStreams.ts'
import { connectTemporal } from '../../src/temporal/connect.ts'

export type FloorSettings = {
  readonly databaseUrl: string
  readonly temporalAddress: string
  readonly namespace: string
  readonly taskQueue: string
  readonly upstreamUrl: string
  readonly imageFile: string
}

const settings: FloorSettings = JSON.parse(process.argv[2] ?? '{}')
const pool = new Pool({ connectionString: settings.databaseUrl, max: 24 })
const temporal = connectTemporal({
  address: settings.temporalAddress,
  namespace: settings.namespace,
})
const agent = new Agent({ connections: 256 })
const folder = await mkdtemp(join(tmpdir(), 'darkroom-floor-'))
let count = 0

/** Only starts a workflow. */
async function start(): Promise<unknown> {
  count += 1
  const workflowId = `floor-${process.pid}-${count}`
  await temporal.client.workflow.start('bare', {
    workflowId,
    taskQueue: settings.taskQueue,
    args: [],
  })
  return { workflowId }
}

/** Only reads one row by its primary key. */
async function row(taskId: string): Promise<unknown> {
  const { rows } = await pool.query({
    name: 'row',
    text: 'select * from task where task_id = $1',
    values: [taskId],
  })
  return rows[0]
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

/** Reads a body with an image, decodes, hashes and writes it durably. */
async function store(body: Buffer): Promise<unknown> {
  const { data }: { readonly data: readonly { readonly b64_json: string }[] } = JSON.parse(
    body.toString(),
  )
  const image = Buffer.from(data[0]?.b64_json ?? '', 'base64')
  count += 1
  const path = join(folder, String(count))
  const file = await open(`${path}.tmp`, 'w')
  await file.writeFile(image)
  await file.sync()
  await file.close()
  await rename(`${path}.tmp`, path)
  return { sha256: createHash('sha256').update(image).digest('hex') }
}

const app = new Koa()
app.use(async (context) => {
  const [, route = '', taskId = ''] = context.path.split('/')
  switch (route) {
    case 'start':
      context.body = await start()
      return
    case 'row':
      context.body = await row(taskId)
      return
    case 'file':
      context.type = 'image/png'
      context.body = createReadStream(settings.imageFile)
      return
    case 'forward':
      context.type = 'application/json'
      context.body = await forward(await collect(context.req))
      return
    case 'store':
      context.body = await store(await collect(context.req))
      return
    default:
      context.status = 404
  }
})
const server = app.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.once('disconnect', () => {
  void rm(folder, { recursive: true, force: true }).then(() => process.exit())
})
