import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { embeddedStack, stackStartMsMax } from '../support/stack/embeddedStack.ts'

let database: TestDatabase
let environment: Record<string, string>

beforeAll(async () => {
  const { temporalAddress } = await embeddedStack()
  database = await createTestDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'darkroom-cli-'))
  environment = {
    DATA_DIR: dataDir,
    DATABASE_URL: database.databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: `cli-${randomBytes(6).toString('hex')}`,
  }
  return async () => {
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  }
}, stackStartMsMax)

type Report = { temporal: { state: string; namespace: string; search_attributes: string[] } }

describe('darkroom migrate', () => {
  it('creates the namespace with its search attributes, and changes nothing the second time', async () => {
    const first = await darkroomJson<Report>(['migrate'], environment)
    const namespace = environment['TEMPORAL_NAMESPACE']
    expect(first.temporal).toMatchObject({ namespace, state: 'made' })
    expect(first.temporal.search_attributes).toContain('DarkroomAccount')
    const second = await darkroomJson<Report>(['migrate'], environment)
    expect(second.temporal).toEqual({ namespace, state: 'present', search_attributes: [] })
  })

  it('names TEMPORAL_ADDRESS within 5 s when Temporal is unreachable', async () => {
    const startedAt = performance.now()
    const unreachable = { ...environment, TEMPORAL_ADDRESS: '127.0.0.1:1' }
    const { exitCode, stderr } = await runDarkroom(['migrate'], unreachable)
    expect(exitCode).toBe(1)
    expect(stderr).toContain('127.0.0.1:1 (TEMPORAL_ADDRESS)')
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })
})
