import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openBlobStore } from '../../src/blobs/openBlobStore.ts'
import { newUploadId } from '../../src/domain/ids.ts'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { BlobExistsError } from '../../src/domain/ports/blobStore.ts'
import { collect } from '../support/byteStreams.ts'
import { tempFolder } from '../support/tempFolder.ts'

const sizes = [0, 1, 65_536, 3 * 1024 * 1024 + 7]
const malformedKeys = ['', '/an1', 'an1/', '../an1', 'an1/..', 'an1/.x', 'an1/a/b', 'an1/ü']

/** What every blob store must do. `place` returns an address that no other test uses. */
export function blobStoreContract(name: string, place: (folder: string) => string): void {
  async function open(at = place(tempFolder())): Promise<BlobStore> {
    const { store, close } = await openBlobStore(at)
    onTestFinished(close)
    return store
  }
  const newId = (): string => newUploadId('answer')
  const text = (content: string) => Buffer.from(content)

  describe(`blob store in ${name}`, () => {
    it.each(sizes)('returns %i bytes unchanged, with their number', async (size) => {
      const store = await open()
      const bytes = randomBytes(size)
      const key = `${newId()}/image`
      await store.put([key, bytes])
      const found = await store.read(key)
      expect([found?.bytes, await store.bytesOf(key)]).toEqual([size, size])
      expect(await store.bytesOf(`${newId()}/image`)).toBeUndefined()
      expect((await contentOf(found)).equals(bytes)).toBe(true)
    })

    it('accepts exactly one of many puts under one key', async () => {
      const store = await open()
      const key = `${newId()}/image`
      const contents = Array.from({ length: 12 }, (_, at) => `content ${at}`)
      const puts = await Promise.allSettled(
        contents.map((content) => store.put([key, text(content)])),
      )
      const won = puts.flatMap((put, at) => (put.status === 'fulfilled' ? [contents[at]] : []))
      const reasons = puts.flatMap((put) => (put.status === 'rejected' ? [put.reason] : []))
      expect(won).toEqual([await readText(store, key)])
      for (const reason of reasons) expect(reason).toBeInstanceOf(BlobExistsError)
    })

    it('stores several blobs at once, and leaves one that exists as it is', async () => {
      const store = await open()
      await store.put(['an1/image', text('first')])
      const again = store.put(['an1/image', text('again')], ['an1/meta.json', text('meta')])
      await expect(again).rejects.toThrow(BlobExistsError)
      const stored = [await readText(store, 'an1/image'), await readText(store, 'an1/meta.json')]
      expect(stored).toEqual(['first', 'meta'])
    })

    it('shows nothing or all bytes under a key while it is written', async () => {
      const store = await open()
      const key = `${newId()}/image`
      const bytes = randomBytes(16 * 1024 * 1024)
      // A look for an absent blob asks for the id, and would take long if it had to make one.
      await store.storeId()
      const stored = new AbortController()
      const put = store.put([key, bytes]).finally(() => stored.abort())
      const seen = new Set<number | undefined>()
      while (!stored.signal.aborted) {
        const found = await store.read(key)
        seen.add(found === undefined ? undefined : (await contentOf(found)).length)
      }
      await put
      expect(seen).toContain(undefined)
      seen.delete(undefined)
      expect([...seen].filter((length) => length !== bytes.length)).toEqual([])
    })

    it('reads an inclusive range, cut at the end of the content', async () => {
      const store = await open()
      const key = `${newId()}/image`
      await store.put([key, text('0123456789')])
      const range = async (first: number, last: number) => {
        const found = await store.read(key, { first, last })
        return [found?.bytes, (await contentOf(found)).toString()]
      }
      expect(await range(0, 0)).toEqual([1, '0'])
      expect(await range(3, 5)).toEqual([3, '345'])
      expect(await range(8, 99)).toEqual([2, '89'])
    })

    it('deletes the keys under a prefix and no others', async () => {
      const store = await open()
      const keys = ['an1/image', 'an1/meta.json', 'an10/image']
      await Promise.all(keys.map((key) => store.put([key, text(key)])))
      for (const prefix of ['an1', 'an1', 'absent']) await store.deletePrefix(prefix)
      const left = await Promise.all(keys.map((key) => readText(store, key)))
      expect(left).toEqual([undefined, undefined, 'an10/image'])
    })

    it.each(malformedKeys)('refuses the malformed key %j', async (key) => {
      const store = await open()
      await expect(store.put([key, text('x')])).rejects.toThrow('malformed blob key')
      await expect(store.read(key)).rejects.toThrow('malformed blob key')
      await expect(store.bytesOf(key)).rejects.toThrow('malformed blob key')
      await expect(store.deletePrefix(key)).rejects.toThrow('malformed blob prefix')
    })

    it('has one id for all processes that open it, and another store has another id', async () => {
      const at = place(tempFolder())
      const stores = await Promise.all([open(at), open(at), open(at)])
      const ids = await Promise.all(stores.map((store) => store.storeId()))
      const again = await open(at)
      expect(new Set([...ids, await again.storeId()]).size).toBe(1)
      const elsewhere = await open()
      expect(await elsewhere.storeId()).not.toBe(ids[0])
    })

    it('leaves no temporary file behind after a put that succeeds or is refused', async () => {
      const folder = tempFolder()
      const store = await open(place(folder))
      await store.put(['an1/image', text('x')])
      await expect(store.put(['an1/image', text('x')])).rejects.toThrow(BlobExistsError)
      const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      expect(names.filter((left) => /[0-9A-Za-z]{32}/.test(left))).toEqual([])
    })
  })
}

async function contentOf(found: Awaited<ReturnType<BlobStore['read']>>): Promise<Buffer> {
  return found === undefined ? Buffer.alloc(0) : await collect(found.content)
}

async function readText(store: BlobStore, key: string): Promise<string | undefined> {
  const found = await store.read(key)
  return found === undefined ? undefined : (await contentOf(found)).toString()
}
