import { once } from 'node:events'
import { createServer } from 'node:http'
import type { TestProject } from 'vitest/node'
import { buildGoTools } from '../../../src/dev/goTools.ts'
import { temporalTools } from '../../../src/dev/temporalPrograms.ts'
import type { Show } from '../../../src/dev/terminal.ts'
import { createTerminal } from '../../../src/dev/terminal.ts'
import { versitygwTool } from '../blobs/versitygw.ts'
import type { RunningCalm } from './calmProcesses.ts'
import { startCalm } from './calmProcesses.ts'

declare module 'vitest' {
  // An interface, because only interfaces merge with the declaration of vitest.
  // oxlint-disable-next-line typescript/consistent-type-definitions
  interface ProvidedContext {
    /** The URL from which tests read where the calm service runs. */
    calmUrl: string
  }
}

/**
 * Runs one service for all tests: `npm start` with a second API. It starts when the first test asks for it,
 * so that a run of pure tests does not wait for it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The first build on a machine takes minutes, longer than the time limit of any test.
  const terminal = createTerminal(process.stderr)
  const show: Show = (stage, detail) => terminal.show(`[stack] The tests wait. ${stage}`, detail)
  for (const tools of [temporalTools, versitygwTool]) {
    await buildGoTools(tools, show)
  }
  let calm: Promise<RunningCalm> | undefined
  const server = createServer((_request, response) => {
    calm ??= startCalm(say)
    calm.then(
      ({ addresses }) => response.end(JSON.stringify(addresses)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  project.provide('calmUrl', `http://127.0.0.1:${address.port}/`)
  return async () => {
    server.close()
    server.closeAllConnections()
    const running = await calm?.catch(() => undefined)
    await running?.stop()
  }
}

function say(line: string): void {
  process.stderr.write(`[stack] ${line}\n`)
}
