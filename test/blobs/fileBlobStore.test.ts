import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createFileBlobStore } from '../../src/blobs/fileBlobStore.ts'
import { tempFileIdleMsMax } from '../../src/blobs/tempFiles.ts'
import { streamOf } from '../support/byteStreams.ts'
import { tempFolder } from '../support/tempFolder.ts'

const run = promisify(execFile)

function tempFile(directory: string, name: string, ageMs: number): string {
  const path = join(directory, '.temp', name)
  mkdirSync(join(directory, '.temp'), { recursive: true })
  writeFileSync(path, 'half an upload')
  const seconds = (Date.now() - ageMs) / 1000
  utimesSync(path, seconds, seconds)
  return path
}

describe('file blob store', () => {
  it('removes the temporary files of a crashed process and keeps those being written', async () => {
    const directory = tempFolder()
    const dead = tempFile(directory, 'dead', tempFileIdleMsMax + 60_000)
    const alive = tempFile(directory, 'alive', tempFileIdleMsMax - 60_000)
    await createFileBlobStore({ directory, randomBytes, nowMs: Date.now })
    expect([existsSync(dead), existsSync(alive)]).toEqual([false, true])
  })

  it('removes them again while it runs, with the first put after an hour', async () => {
    const directory = tempFolder()
    let nowMs = Date.now()
    const store = await createFileBlobStore({ directory, randomBytes, nowMs: () => nowMs })
    const dead = tempFile(directory, 'dead', 0)
    nowMs += tempFileIdleMsMax + 60_000
    await store.put('an1/image', streamOf([Buffer.from('x')]), {})
    expect(existsSync(dead)).toBe(false)
  })

  it('makes blobs and their directories readable only by the user of the process', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore({ directory, randomBytes, nowMs: Date.now })
    await store.put('an1/image', streamOf([Buffer.from('x')]), {})
    const modes = ['an1', 'an1/image', '.temp'].map((name) => statSync(join(directory, name)).mode)
    expect(modes.map((mode) => mode & 0o077)).toEqual([0, 0, 0])
  })

  it('does not read a directory as a blob or a blob as a directory', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore({ directory, randomBytes, nowMs: Date.now })
    await store.put('an1/image', streamOf([Buffer.from('x')]), {})
    expect(await store.read('an1')).toBeUndefined()
    expect(await store.read('an1/image/more')).toBeUndefined()
  })

  it('throws instead of reporting absence when the directory is no longer that of its id', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore({ directory, randomBytes, nowMs: Date.now })
    const id = await store.storeId()
    await store.put('an1/image', streamOf([Buffer.from('x')]), {})
    // As when a mount is lost: the names are gone, and the directory below it is there and empty.
    const mounted = ['.store-id', 'an1']
    const away = tempFolder()
    for (const name of mounted) renameSync(join(directory, name), join(away, name))
    await expect(store.read('an1/image')).rejects.toThrow('id')
    await expect(store.deletePrefix('an1')).rejects.toThrow('id')
    await expect(store.storeId()).rejects.toThrow('id')
    expect(existsSync(join(directory, '.store-id'))).toBe(false)
    for (const name of mounted) renameSync(join(away, name), join(directory, name))
    expect(await store.storeId()).toBe(id)
    expect(await store.read('an1/image')).toMatchObject({ bytes: 1 })
    expect(await store.read('an2/image')).toBeUndefined()
    await store.deletePrefix('an2')
    writeFileSync(join(directory, '.store-id'), 'another')
    await expect(store.read('an2/image')).rejects.toThrow('id')
  })

  it('leaves nothing behind and reports the error when the disk is full', async () => {
    const directory = tempFolder()
    const script = fileURLToPath(new URL('putTooMuch.ts', import.meta.url))
    // The shell limits the size of a file, so that writing fails midway as on a full disk.
    const limited = `ulimit -f 128; exec "$0" "$@"`
    const { stdout } = await run('sh', ['-c', limited, process.execPath, script, directory])
    expect(stdout).toContain('failed with EFBIG, found: nothing')
    expect(readdirSync(join(directory, '.temp'))).toEqual([])
  })
})
