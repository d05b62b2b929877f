import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { SpawnedStart } from '../support/stack/spawnStart.ts'
import { memoryFolder, spawnStart } from '../support/stack/spawnStart.ts'
import { until } from '../support/timing.ts'

const task = { model: 'familyb-image-2-vip', action: 'generate' }

let start: SpawnedStart
let client: Client

beforeAll(async () => {
  const dataDir = mkdtempSync(join(memoryFolder, 'darkroom-parts-'))
  start = await spawnStart(dataDir)
  const { PUBLIC_URL: url = '' } = await start.ready(stackStartMsMax)
  client = createClient(url, readFileSync(join(dataDir, 'demo-key'), 'utf8').trim())
  return async () => {
    start.signal('SIGTERM')
    await start.ended
    rmSync(dataDir, { recursive: true, force: true })
  }
}, stackStartMsMax)

it.each(['postgres', 'temporal', 'worker', 'api'] as const)(
  'starts %s again when it ends unasked, and goes on',
  async (part) => {
    const pid = start.partPid(part)
    process.kill(pid, 'SIGKILL')
    await until('another process', () => ![0, pid].includes(start.partPid(part)) || undefined)
    const { task_id: taskId } = await until('an accepted task', () =>
      client
        .accepted({ ...task, prompt: `After ${part} [sim:delay ms=10]` })
        .catch(() => undefined),
    )
    const record = await until('its end', () => client.ended(taskId).catch(() => undefined))
    expect(record.status).toBe('succeeded')
  },
)
