// node floorServer.ts DATABASE_URL TEMPORAL_ADDRESS NAMESPACE UPSTREAM_URL FILE_BYTES PORT serves the least
// that each part of Darkroom can cost. It also runs the worker of the bare workflow.
import { createReadStream, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'
import { Pool } from 'pg'
import { Agent, request } from 'undici'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { installRuntime } from '../../src/temporal/worker/runtime.ts'
import { collect } from '../../test/support/byteStreams.ts'
import { paddedPng } from '../../test/support/images.ts'

const [, , databaseUrl, address = '', namespace = '', upstreamUrl, bytes, port] = process.argv
const taskQueue = 'bench-bare'
const pool = new Pool({ connectionString: databaseUrl, max: 24 })
const agent = new Agent({ connections: 256 })
const file = join(tmpdir(), 'image.png')
writeFileSync(file, paddedPng(Number(bytes), 7))
const { client } = connectTemporal({ address, namespace })
let workflows = 0

async function serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const [, route = '', taskId = ''] = asked.url?.split('/') ?? []
  switch (route) {
    case 'start':
    case 'execute': {
      // `execute` also waits for the result.
      const workflowId = `bare-${process.pid}-${(workflows += 1)}`
      await client.workflow[route]('bare', { workflowId, taskQueue, args: [] })
      return void answer.end()
    }
    case 'row': {
      const text = 'select * from task where task_id = $1'
      const { rows } = await pool.query({ name: 'row', text, values: [taskId] })
      return void answer.end(JSON.stringify(rows[0]))
    }
    case 'file':
      return void createReadStream(file).pipe(answer)
    case 'forward': {
      const url = `${upstreamUrl}/v1/images/generations`
      const body = await collect(asked)
      const given = await request(url, { dispatcher: agent, method: 'POST', body })
      return void given.body.pipe(answer)
    }
    default:
      return void answer.end()
  }
}

installRuntime(() => {})
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  namespace,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('bareWorkflow.ts', import.meta.url)),
  activities: { nothing: async () => {} },
})
void worker.run()
createServer((asked, answer) => {
  serve(asked, answer).catch((error: unknown) => answer.writeHead(500).end(String(error)))
}).listen(Number(port), '127.0.0.1')
