import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { replayHistories } from '../../src/temporal/worker/replay.ts'
import { workflowBundle } from '../../src/temporal/worker/workflowBundle.ts'
import { testBundle } from '../support/temporal/temporalWorld.ts'

const folder = new URL('../histories/', import.meta.url)

describe('the workflow bundle', () => {
  it('is made once per state of the sources, then read from the cache', async () => {
    const cacheDir = await mkdtemp(join(tmpdir(), 'darkroom-bundle-'))
    const made = await workflowBundle({ cacheDir })
    expect(made.code).toContain('imageTask')
    const [name = ''] = await readdir(cacheDir)
    await writeFile(join(cacheDir, name), 'the cached one')
    expect(await workflowBundle({ cacheDir })).toEqual({ code: 'the cached one' })
    await rm(cacheDir, { recursive: true })
  })

  it('replays runs that began without tracing when it is traced', async () => {
    const [plain, traced] = await Promise.all([testBundle(), workflowBundle({ traced: true })])
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
