import { array, assert, asyncProperty } from 'fast-check'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openBlobStore } from '../../src/blobs/openBlobStore.ts'
import { newUploadId } from '../../src/domain/ids.ts'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { BlobExistsError } from '../../src/domain/ports/blobStore.ts'
import { acts, modelActs, readText, step, text } from './blobStoreModel.ts'
import { collect, streamOf } from '../support/byteStreams.ts'
import { tempFolder } from '../support/tempFolder.ts'

const sizes = [0, 1, 65_536, 3 * 1024 * 1024 + 7]
const malformedKeys = [
  '',
  ...'/an1 an1/ an1//image ../an1 an1/.. an1/../an2 an1/. .temp/x an1/\0 an1/ü'.split(' '),
  'an1/im age',
  `an1/${'x'.repeat(300)}`,
]

/** What every blob store must do. `place` returns an address that no other test uses. */
export function blobStoreContract(name: string, place: (folder: string) => string): void {
  async function open(at = place(tempFolder())): Promise<BlobStore> {
    const tempDir = tempFolder()
    const { store, close } = await openBlobStore(at, { randomBytes, nowMs: Date.now, tempDir })
    onTestFinished(close)
    return store
  }
  const newId = (): string => newUploadId(randomBytes, 'answer')

  describe(`blob store in ${name}`, () => {
    it.each(sizes)('returns %i bytes unchanged, with size and SHA-256', async (size) => {
      const store = await open()
      const bytes = randomBytes(size)
      const key = `${newId()}/image`
      const stored = await store.put(key, streamOf(chunked(bytes)), {})
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      expect(stored).toEqual({ bytes: size, sha256 })
      const found = await store.read(key)
      expect(found?.bytes).toBe(size)
      expect((await contentOf(found)).equals(bytes)).toBe(true)
    })

    it('accepts exactly one of many puts under one key', async () => {
      const store = await open()
      const key = `${newId()}/image`
      const contents = Array.from({ length: 12 }, (_, at) => `content ${at}`)
      const puts = await Promise.allSettled(
        contents.map((content) => store.put(key, text(content), {})),
      )
      const won = puts.flatMap((put, at) => (put.status === 'fulfilled' ? [contents[at]] : []))
      const reasons = puts.flatMap((put) => (put.status === 'rejected' ? [put.reason] : []))
      expect(won).toEqual([await readText(store, key)])
      for (const reason of reasons) expect(reason).toBeInstanceOf(BlobExistsError)
    })

    it('shows a blob only after the one that it follows, and never when that one fails', async () => {
      const store = await open()
      const id = newId()
      const first = Promise.withResolvers<void>()
      const second = store.put(`${id}/meta.json`, text('{}'), { after: first.promise })
      await sleep(200)
      expect(await store.read(`${id}/meta.json`)).toBeUndefined()
      first.resolve()
      await second
      expect(await readText(store, `${id}/meta.json`)).toBe('{}')

      const lost = failing(new Error('the first is lost'))
      const never = store.put(`${id}/never`, text('{}'), { after: lost })
      await expect(never).rejects.toThrow('the first is lost')
      expect(await store.read(`${id}/never`)).toBeUndefined()
    })

    it('shows nothing under a key until its content is whole', async () => {
      const store = await open()
      const key = `${newId()}/image`
      const gate = Promise.withResolvers<void>()
      const put = store.put(key, halves(gate.promise), {})
      expect(await store.read(key)).toBeUndefined()
      gate.resolve()
      await put
      expect(await readText(store, key)).toBe('first half, second half')
    })

    it('leaves nothing under the key when the content fails or the put is aborted', async () => {
      const store = await open()
      const key = `${newId()}/image`
      const failure = new Error('the client left')
      await expect(store.put(key, halves(failing(failure)), {})).rejects.toBe(failure)
      expect(await store.read(key)).toBeUndefined()
      const signal = AbortSignal.timeout(30)
      const never = halves(new Promise<void>(() => {}))
      await expect(store.put(key, never, { signal })).rejects.toThrow('aborted')
      expect(await store.read(key)).toBeUndefined()
      await store.put(key, text('another try'), {})
      expect(await readText(store, key)).toBe('another try')
    })

    it('reads an inclusive range, cut at the end of the content', async () => {
      const store = await open()
      const key = `${newId()}/image`
      await store.put(key, text('0123456789'), {})
      const range = async (first: number, last: number) => {
        const found = await store.read(key, { first, last })
        return [found?.bytes, (await contentOf(found)).toString()]
      }
      expect(await range(0, 0)).toEqual([1, '0'])
      expect(await range(3, 5)).toEqual([3, '345'])
      expect(await range(8, 99)).toEqual([2, '89'])
      expect(await range(10, 12)).toEqual([0, ''])
    })

    it('finds nothing under a prefix, and deletes the keys under a prefix and no others', async () => {
      const store = await open()
      const keys = ['an1/image', 'an1/meta.json', 'an10/image']
      await Promise.all(keys.map((key) => store.put(key, text(key), {})))
      expect(await store.read('an1')).toBeUndefined()
      for (const prefix of ['an1', 'an1', 'absent']) await store.deletePrefix(prefix)
      const left = await Promise.all(keys.map((key) => readText(store, key)))
      expect(left).toEqual([undefined, undefined, 'an10/image'])
    })

    it.each(malformedKeys)('refuses the malformed key %j', async (key) => {
      const store = await open()
      await expect(store.put(key, text('x'), {})).rejects.toThrow('malformed blob key')
      await expect(store.read(key)).rejects.toThrow('malformed blob key')
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

    it('leaves no temporary file behind after a put that succeeds, is refused or fails', async () => {
      const [tempDir, folder] = [tempFolder(), tempFolder()]
      const deps = { randomBytes, nowMs: Date.now, tempDir }
      const { store, close } = await openBlobStore(place(folder), deps)
      onTestFinished(close)
      await Promise.allSettled([
        store.put('an1/image', text('x'), {}),
        store.put('an1/image', text('x'), {}),
        store.put('an2/image', halves(failing(new Error('no'))), {}),
      ])
      const names = [folder, tempDir].flatMap((at) =>
        readdirSync(at, { recursive: true, withFileTypes: true, encoding: 'utf8' }),
      )
      const left = names.filter((entry) => entry.isFile() && /[0-9A-Za-z]{32}/.test(entry.name))
      expect(left).toEqual([])
    })

    it('behaves like a map whose keys are written once', async () => {
      const store = await open()
      await assert(
        asyncProperty(array(step, { maxLength: 12 }), async (steps) => {
          const ids = new Map([0, 1].map((number) => [number, newId()]))
          const model = new Map<string, string>()
          const seen: unknown[] = []
          const expected: unknown[] = []
          for (const { act, id, name, content } of steps) {
            const prefix = ids.get(id) ?? ''
            const key = `${prefix}/${name}`
            seen.push(await acts[act](store, key, content))
            expected.push(modelActs[act](model, key, content))
          }
          expect(seen).toEqual(expected)
        }),
        { numRuns: 40 },
      )
    })
  })
}

function* chunked(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 50_001) yield bytes.subarray(at, at + 50_001)
}

async function* halves(between: Promise<void>): AsyncGenerator<Uint8Array> {
  yield Buffer.from('first half, ')
  await between
  yield Buffer.from('second half')
}

/** A promise that rejects, also when nobody awaits it. */
function failing(reason: Error): Promise<never> {
  const failed = Promise.reject(reason)
  failed.catch(() => {})
  return failed
}

async function contentOf(found: Awaited<ReturnType<BlobStore['read']>>): Promise<Buffer> {
  return found === undefined ? Buffer.alloc(0) : await collect(found.content)
}
