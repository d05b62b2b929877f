import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { workflowBundle } from '../../src/temporal/worker/workflowBundle.ts'

describe('the workflow bundle', () => {
  it('is made once per state of the sources, then read from the cache', async () => {
    const cacheDir = await mkdtemp(join(tmpdir(), 'darkroom-bundle-'))
    const made = await workflowBundle(cacheDir)
    expect(made.code).toContain('imageTask')
    const [name = ''] = await readdir(cacheDir)
    await writeFile(join(cacheDir, name), 'the cached one')
    expect(await workflowBundle(cacheDir)).toEqual({ code: 'the cached one' })
    await rm(cacheDir, { recursive: true })
  })
})
