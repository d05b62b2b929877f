import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildGoTools } from '../../../src/dev/goTools.ts'
import { temporalTools } from '../../../src/dev/temporalPrograms.ts'
import { stackStartMsMax } from './embeddedStack.ts'
import { versitygwTool } from './goTools.ts'
import type { SpawnedStart } from './spawnStart.ts'
import { spawnStart } from './spawnStart.ts'
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
  for (const tools of [temporalTools, versitygwTool]) {
    await buildGoTools(tools, { env: process.env, say })
  }
  let started: Promise<{ answer: string; start: SpawnedStart }> | undefined
  const server = createServer((_request, response) => {
    started ??= start()
    started.then(
      ({ answer }) => response.end(answer),
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
    running.start.signal('SIGTERM')
    await running.start.ended
    await rm(running.start.dataDir, { recursive: true, force: true })
  }
}

function say(line: string): void {
  process.stderr.write(`[stack] ${line}\n`)
}

async function start(): Promise<{ answer: string; start: SpawnedStart }> {
  const dataDir = await mkdtemp(join(await stackParent(), 'darkroom-stack-'))
  const spawned = await spawnStart(dataDir)
  try {
    const environment = await spawned.ready(stackStartMsMax)
    const { DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress } = environment
    return { answer: JSON.stringify({ databaseUrl, temporalAddress }), start: spawned }
  } catch (error) {
    spawned.signal('SIGTERM')
    await spawned.ended
    await rm(dataDir, { recursive: true, force: true })
    throw error
  }
}

const memoryFolder = '/dev/shm'
/** The databases of a run take less than 3 GiB, most of it write-ahead log. */
const memoryBytesMin = 8 * 1024 ** 3

/**
 * Returns the folder for the stack's data: in memory where there is plenty. On a disk, making and dropping
 * the hundreds of files of each test's database takes half of PostgreSQL's CPU.
 */
async function stackParent(): Promise<string> {
  const found = await statfs(memoryFolder).catch(() => undefined)
  return (found?.bavail ?? 0) * (found?.bsize ?? 0) > memoryBytesMin ? memoryFolder : tmpdir()
}
