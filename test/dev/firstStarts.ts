import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { SpawnedStart } from '../support/stack/spawnStart.ts'
import { spawnStart } from '../support/stack/spawnStart.ts'

const started: SpawnedStart[] = []

/** Starts on an empty cache of programs, and waits until it is ready without Temporal. */
export async function firstStart(dataDir: string, variables: Readonly<Record<string, string>>) {
  const cache = { XDG_CACHE_HOME: `${dataDir}-cache` }
  const start = await spawnStart(dataDir, `${dataDir}.log`, { ...cache, ...variables })
  started.push(start)
  const environment = await start.ready(stackStartMsMax, { withTemporal: false })
  const url = environment['PUBLIC_URL'] ?? ''
  const client = createClient(url, readFileSync(join(dataDir, 'demo-key'), 'utf8').trim())
  return { start, client, environment }
}

/** Kills all starts of a file. */
export async function endStarts(): Promise<void> {
  for (const start of started.splice(0)) {
    start.signal('SIGKILL')
    await start.ended
  }
}

/** Expects that a service makes an image for a caller who waits, and one for a task. */
export async function makesImages(client: Client, prompt: string): Promise<void> {
  expect((await fetch(`${client.url}/readyz`)).status).toBe(200)
  expect((await generate(client, { prompt })).status).toBe(200)
  const { task_id: taskId } = await client.accepted(generateBody({ prompt }))
  expect((await client.ended(taskId)).status).toBe('succeeded')
}
