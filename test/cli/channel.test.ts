import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startSimulator } from '../../src/dev/simulator/startSimulator.ts'
import { useCliWorld } from './openCliWorld.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { tempFolder } from '../support/tempFolder.ts'

const world = useCliWorld()

describe('darkroom channel', () => {
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
