import { beforeAll, describe, expect, it } from 'vitest'
import type { AttemptStore } from '../../src/domain/ports/attemptStore.ts'
import type { CliWorld } from './openCliWorld.ts'
import { openCliWorld } from './openCliWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'

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
})
