import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createFileBlobStore } from '../../src/blobs/fileBlobStore.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import { tempFolder } from '../support/tempFolder.ts'

const run = promisify(execFile)

describe('file blob store', () => {
  it('deletes what a crashed process left of a put together with its prefix', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore({ directory, randomBytes })
    await store.put(['an1/image', Buffer.from('x')])
    writeFileSync(join(directory, 'an1', `.${'x'.repeat(32)}`), 'half an image')
    await store.deletePrefix('an1')
    expect(readdirSync(directory)).toEqual([])
  })

  it('makes blobs and their directories readable only by the user of the process', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore({ directory, randomBytes })
    await store.put(['an1/image', Buffer.from('x')])
    const modes = ['an1', 'an1/image'].map((name) => statSync(join(directory, name)).mode)
    expect(modes.map((mode) => mode & 0o077)).toEqual([0, 0])
  })

  it('reports a blob that ends before its length', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore({ directory, randomBytes })
    await store.put(['an1/image', Buffer.from('content')])
    const found = await store.read('an1/image')
    truncateSync(join(directory, 'an1/image'), 4)
    await expect(collect(found?.content ?? streamOf([]))).rejects.toThrow('before its length')
  })

  it('throws instead of reporting absence when the directory is no longer that of its id', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore({ directory, randomBytes })
    const id = await store.storeId()
    await store.put(['an1/image', Buffer.from('x')])
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

  it('stores none of several blobs and reports the error when the disk is full', async () => {
    const directory = tempFolder()
    const script = fileURLToPath(new URL('putTooMuch.ts', import.meta.url))
    // The shell limits the size of a file, so that writing fails midway as on a full disk.
    const limited = `ulimit -f 128; exec "$0" "$@"`
    const { stdout } = await run('sh', ['-c', limited, process.execPath, script, directory])
    expect(stdout).toContain('failed with EFBIG, found: nothing')
    expect(readdirSync(join(directory, 'an1'))).toEqual([])
  })
})
