import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildGoTools } from '../../../src/dev/stack/goTools.ts'
import type { Stack } from '../../../src/dev/stack/stack.ts'
import { startStack } from '../../../src/dev/stack/stack.ts'
import { temporalTools } from '../../../src/dev/stack/temporal/findTemporal.ts'
import { promtoolTool, versitygwTool } from './goTools.ts'
import { portOf } from '../upstream/testServers.ts'

declare module 'vitest' {
  // An interface, because only interfaces merge with the declaration of vitest.
  // oxlint-disable-next-line typescript/consistent-type-definitions
  interface ProvidedContext {
    /** The URL from which `embeddedStack` reads the addresses of the stack. */
    embeddedStackUrl: string
  }
}

/**
 * Provides one PostgreSQL and one Temporal per run. They start when the first test asks for them. Free ports
 * and a temporary folder keep concurrent runs apart.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The first build on a machine takes minutes, longer than the time limit of any test. A failed build
  // is reported by the test that needs the program.
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
  const port = await portOf(server)
  project.provide('embeddedStackUrl', `http://127.0.0.1:${port}/`)
  return async () => {
    server.close()
    server.closeAllConnections()
    const running = await started?.catch(() => undefined)
    if (running === undefined) return
    await running.stack.stop()
    await rm(running.dataDir, { recursive: true, force: true })
  }
}

function say(line: string): void {
  process.stderr.write(`[stack] ${line}\n`)
}

async function start(): Promise<{ stack: Stack; dataDir: string }> {
  const dataDir = await mkdtemp(join(await stackParent(), 'darkroom-stack-'))
  try {
    const stack = await startStack({
      dataDir,
      ports: { postgres: 0, temporal: 0, temporalUi: 0 },
      temporalNamespace: 'default',
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

const memoryFolder = '/dev/shm'
/** The databases of a run take less than 3 GiB, most of it write-ahead log. */
const memoryBytesMin = 8 * 1024 ** 3

/**
 * Returns the folder for the stack's data: in memory where there is plenty. On a disk, making and dropping the
 * hundreds of files of each test's database takes half of PostgreSQL's CPU.
 */
async function stackParent(): Promise<string> {
  const found = await statfs(memoryFolder).catch(() => undefined)
  return (found?.bavail ?? 0) * (found?.bsize ?? 0) > memoryBytesMin ? memoryFolder : tmpdir()
}
