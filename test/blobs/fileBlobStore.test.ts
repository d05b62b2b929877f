import { existsSync, readdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { blobStoreContract } from './blobStoreContract.ts'
import { createBlobStore, putMsMax } from '../../src/blobs/createBlobStore.ts'
import { createFileBlobStore } from '../../src/blobs/fileBlobStore.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import { tempFolder } from '../support/tempFolder.ts'

blobStoreContract('files', (folder) => pathToFileURL(folder).href)

describe('file blob store', () => {
  it('deletes what a crashed process left of a put together with its prefix', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore(directory)
    await store.put(['an1/image', Buffer.from('x')])
    writeFileSync(join(directory, 'an1', `.${'x'.repeat(32)}`), 'half an image')
    await store.deletePrefix('an1')
    expect(readdirSync(directory)).toEqual([])
  })

  it('makes blobs and their directories readable only by the user of the process', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore(directory)
    await store.put(['an1/image', Buffer.from('x')])
    const modes = ['an1', 'an1/image'].map((name) => statSync(join(directory, name)).mode)
    expect(modes.map((mode) => mode & 0o077)).toEqual([0, 0])
  })

  it('reports a blob that ends before its length', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore(directory)
    await store.put(['an1/image', Buffer.from('content')])
    const found = await store.read('an1/image')
    truncateSync(join(directory, 'an1/image'), 4)
    await expect(collect(found?.content ?? streamOf([]))).rejects.toThrow('before its length')
  })

  it('throws instead of reporting absence, and stores nothing, when the directory is no longer that of its id', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore(directory)
    const id = await store.storeId()
    await store.put(['an1/image', Buffer.from('x')])
    // As when a mount is lost: the names are gone, and the directory below it is there and empty.
    const mounted = ['.store-id', 'an1']
    const away = tempFolder()
    for (const name of mounted) renameSync(join(directory, name), join(away, name))
    await expect(store.read('an1/image')).rejects.toThrow('id')
    await expect(store.bytesOf('an1/image')).rejects.toThrow('id')
    await expect(store.deletePrefix('an1')).rejects.toThrow('id')
    await expect(store.storeId()).rejects.toThrow('id')
    await expect(store.put(['an3/image', Buffer.from('x')])).rejects.toThrow('id')
    expect(readdirSync(directory)).toEqual([])
    for (const name of mounted) renameSync(join(away, name), join(directory, name))
    expect(await store.storeId()).toBe(id)
    expect(await store.read('an1/image')).toMatchObject({ bytes: 1 })
    expect(await store.read('an2/image')).toBeUndefined()
    await store.deletePrefix('an2')
    writeFileSync(join(directory, '.store-id'), 'another')
    await expect(store.read('an2/image')).rejects.toThrow('id')
    await expect(store.put(['an3/image', Buffer.from('x')])).rejects.toThrow('id')
    expect(existsSync(join(directory, 'an3'))).toBe(false)
  })

  it('stores none of several blobs and reports the error when the disk is full', async () => {
    const directory = tempFolder()
    const store = await createFileBlobStore(directory)
    const probe = await open(join(directory, '.probe'), 'w')
    const files: FileHandle = Object.getPrototypeOf(probe)
    await probe.close()
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    const sync = vi.spyOn(files, 'sync').mockRejectedValueOnce(full)
    const image = ['an1/image', Buffer.from('x')] as const
    await expect(store.put(image, ['an1/meta.json', Buffer.from('{}')])).rejects.toBe(full)
    sync.mockRestore()
    expect(readdirSync(join(directory, 'an1'))).toEqual([])
  })
})

describe('a blob store that hangs', () => {
  it('ends a put after its limit', async () => {
    vi.useFakeTimers()
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const backend = {
      put: () => new Promise<void>(() => {}),
      read: () => Promise.resolve(undefined),
      bytesOf: () => Promise.resolve(undefined),
      deletePrefix: () => Promise.resolve(false),
    }
    const put = createBlobStore(backend).put(['an1/image', Buffer.from('x')])
    await Promise.all([
      expect(put).rejects.toThrow('no answer in'),
      vi.advanceTimersByTimeAsync(putMsMax),
    ])
  })
})
