import { spawnSync } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeProcessTempFolder } from '../../src/wiring/processTempFolder.ts'
import { tempFolder } from '../support/tempFolder.ts'

describe('makeProcessTempFolder', () => {
  it('makes a new folder at each call, which only its user can enter', async () => {
    const parent = tempFolder()
    const first = await makeProcessTempFolder(parent)
    const second = await makeProcessTempFolder(parent)
    expect(first.path).not.toBe(second.path)
    expect(dirname(first.path)).toBe(parent)
    expect(statSync(first.path).mode & 0o777).toBe(0o700)
    writeFileSync(join(first.path, 'upload'), 'x')
    await first.remove()
    expect(existsSync(first.path)).toBe(false)
    expect(existsSync(second.path)).toBe(true)
  })

  it('deletes the folders of killed processes, and no others', async () => {
    const parent = tempFolder()
    const { pid: deadPid } = spawnSync(process.execPath, ['-e', ''])
    const living = `darkroom-${hostname()}-${process.pid}-AbCd12`
    const others = [living, 'darkroom-test-x1', `darkroom-elsewhere.invalid-${deadPid}-AbCd12`]
    const left = `darkroom-${hostname()}-${deadPid}-AbCd12`
    for (const name of [...others, left]) mkdirSync(join(parent, name))
    writeFileSync(join(parent, left, 'upload'), 'x')
    const { path, remove } = await makeProcessTempFolder(parent)
    await remove()
    expect(path).not.toContain(left)
    expect(readdirSync(parent).toSorted()).toEqual(others.toSorted())
  })

  it.runIf(process.getuid?.() === 0)(
    'deletes nothing of another user, and follows no link, when it runs as root',
    async () => {
      const [parent, elsewhere] = [tempFolder(), tempFolder()]
      const { pid: deadPid } = spawnSync(process.execPath, ['-e', ''])
      const [planted, link] = ['Folder', 'LinkTo'].map((end) =>
        join(parent, `darkroom-${hostname()}-${deadPid}-${end}`),
      )
      mkdirSync(planted ?? '')
      chownSync(planted ?? '', 65_534, 65_534)
      symlinkSync(elsewhere, link ?? '')
      writeFileSync(join(elsewhere, 'kept'), 'x')
      const { remove } = await makeProcessTempFolder(parent)
      await remove()
      expect(readdirSync(parent)).toHaveLength(2)
      expect(readdirSync(elsewhere)).toEqual(['kept'])
    },
  )
})
