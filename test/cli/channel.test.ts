import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startSimulator } from '../../src/dev/simulator/server.ts'
import type { AttemptStore } from '../../src/domain/ports/attemptStore.ts'
import type { CliWorld } from './openCliWorld.ts'
import { openCliWorld } from './openCliWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { tempFolder } from '../support/tempFolder.ts'

let world: CliWorld
let attempts: AttemptStore

beforeAll(async () => {
  world = await openCliWorld()
  attempts = await createTestAttempts(world.pool)
  return () => world.close()
})

describe('darkroom channel', () => {
  it('pauses a channel with a reason that `channel list` shows, and resumes it', async () => {
    const paused = await darkroomJson(
      ['channel', 'pause', 'b-main', '--reason', 'key rotation'],
      world.environment,
    )
    expect(paused).toMatchObject({ name: 'b-main', pause_reason: 'key rotation' })
    const { taskId } = await insertTask(world.pool)
    expect(await attempts.beginAttempt({ taskId })).toMatchObject({ reason: 'channel_paused' })
    const list = await runDarkroom(['channel', 'list'], world.environment)
    expect(list.stdout).toMatch(/^b-main +paused .* key rotation$/m)
    const resumed = await darkroomJson(['channel', 'resume', 'b-main'], world.environment)
    expect(resumed).toMatchObject({ paused_at: null, pause_reason: null })
    expect(await attempts.beginAttempt({ taskId })).toMatchObject({ kind: 'opened' })
    const unknown = await runDarkroom(['channel', 'pause', 'b-other'], world.environment)
    expect(unknown.exitCode).toBe(1)
  })

  it('checks a channel with a free call, says what it sent, and exits 0 or 1', async () => {
    const simulator = await startSimulator({ port: 0, latency: 0 })
    onTestFinished(() => simulator.close())
    const DARKROOM_CONFIG = join(tempFolder(), 'config.json')
    const baseUrl = `${simulator.url}/v1`
    const channel = { name: 'checked', family: 'B', baseUrl, apiKeyEnv: 'CHECKED_KEY' }
    writeFileSync(DARKROOM_CONFIG, JSON.stringify({ channels: [channel] }))
    const environment = { ...world.environment, DARKROOM_CONFIG }
    const withKey = { ...environment, CHECKED_KEY: 'secret-of-the-channel' }
    const command = ['channel', 'check', 'checked']
    expect(await darkroomJson(command, withKey)).toMatchObject({
      name: 'checked',
      result: 'accepted',
      url: `${baseUrl}/models`,
      header: 'authorization',
      http_status: 200,
      reason: null,
    })
    const text = await runDarkroom(command, withKey)
    expect(text.stdout).toContain(`GET ${baseUrl}/models`)
    expect(text.stdout).not.toContain('secret-of-the-channel')
    const without = await runDarkroom(command, environment)
    expect([without.exitCode, without.stdout]).toEqual([
      1,
      expect.stringContaining('no_credential'),
    ])
    const unknown = await runDarkroom(['channel', 'check', 'other'], withKey)
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('"other"')])
    expect(simulator.calls()).toEqual([])
  })
})
