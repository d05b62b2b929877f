import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildGoTools } from '../../../src/dev/stack/buildGoTools.ts'
import { promtoolTool } from '../../../src/dev/stack/promtoolTool.ts'
import { startStack, type Stack } from '../../../src/dev/stack/stack.ts'
import { temporalTools } from '../../../src/dev/stack/temporalTools.ts'
import { versitygwTool } from '../../../src/dev/stack/versitygwTool.ts'

declare module 'vitest' {
  // Declarations merge only into an interface.
  interface ProvidedContext {
    /** Where `embeddedStack` asks for the stack of this run. */
    embeddedStackUrl: string
  }
}

/**
 * One PostgreSQL and one Temporal per run, started when the first test asks for them, on free ports
 * and with data in a temporary folder: runs side by side do not meet.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Minutes on a machine that has never built them, and no time limit of a test has room for that.
  // A build that fails is told of where its program is needed.
  for (const tools of [temporalTools, versitygwTool, promtoolTool]) {
    await buildGoTools(tools, { env: process.env, say })
  }
  let started: Promise<{ stack: Stack; dataDir: string }> | undefined
  const server = createServer((_request, response) => {
    started ??= start()
    started.then(
      ({ stack: { databaseUrl, temporalAddress } }) =>
        response.end(JSON.stringify({ databaseUrl, temporalAddress })),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  project.provide('embeddedStackUrl', `http://127.0.0.1:${portOf(server.address())}/`)
  return async () => {
    server.close()
    server.closeAllConnections()
    const running = await started?.catch(() => undefined)
    if (running === undefined) return
    await running.stack.stop()
    await rm(running.dataDir, { recursive: true, force: true })
  }
}

const say = (line: string): void => void process.stderr.write(`[stack] ${line}\n`)

const start = async (): Promise<{ stack: Stack; dataDir: string }> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'darkroom-stack-'))
  try {
    const stack = await startStack({
      dataDir,
      ports: { postgres: 0, temporal: 0, temporalUi: 0 },
      env: process.env,
      say,
      withUi: false,
      durable: false,
    })
    return { stack, dataDir }
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true })
    throw error
  }
}

const portOf = (address: AddressInfo | string | null): number => {
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return address.port
}
