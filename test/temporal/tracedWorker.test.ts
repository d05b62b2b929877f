import { readFile, readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { loggerOf } from '../../src/temporal/worker/runtime.ts'
import { replayHistories } from '../../src/temporal/worker/replay.ts'
import { workflowBundle } from '../../src/temporal/worker/workflowBundle.ts'
import { testBundle } from '../support/temporal/temporalWorld.ts'

const folder = new URL('../histories/', import.meta.url)

describe('workflow code that tells of its runs for traces', () => {
  it('goes on with runs that were begun without', async () => {
    const [plain, traced] = await Promise.all([
      testBundle(),
      workflowBundle({ traced: true, logger: loggerOf(() => {}) }),
    ])
    expect(traced.code).not.toBe(plain.code)
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
    expect(names).not.toEqual([])
    const recorded = await Promise.all(
      names.map(async (workflowId) => {
        const history: unknown = JSON.parse(await readFile(new URL(workflowId, folder), 'utf8'))
        return { workflowId, history }
      }),
    )
    const results = await replayHistories(traced, recorded)
    expect(results).toEqual(names.map((workflowId) => ({ workflowId })))
  })
})
