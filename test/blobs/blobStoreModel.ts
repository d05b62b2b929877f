import { constantFrom, nat, record, string } from 'fast-check'
import type { BlobStore } from '../../src/domain/ports/blobStore.ts'
import { collect } from '../support/byteStreams.ts'

/** One step of a random history, done both to the store and to a map. */
export const step = record({
  act: constantFrom('put' as const, 'read' as const, 'delete' as const),
  id: nat(1),
  name: constantFrom('image', 'meta.json'),
  content: string({ maxLength: 20 }),
})

const prefixOf = (key: string): string => key.split('/', 1)[0] ?? ''

export const acts = {
  put: (store: BlobStore, key: string, content: string) =>
    store.put([key, Buffer.from(content)]).then(
      () => 'stored',
      () => 'refused',
    ),
  read: (store: BlobStore, key: string) => readText(store, key),
  delete: (store: BlobStore, key: string) => store.deletePrefix(prefixOf(key)),
}

export const modelActs = {
  put(model: Map<string, string>, key: string, content: string) {
    if (model.has(key)) return 'refused'
    model.set(key, content)
    return 'stored'
  },
  read: (model: Map<string, string>, key: string) => model.get(key),
  delete(model: Map<string, string>, key: string) {
    for (const known of model.keys()) if (prefixOf(known) === prefixOf(key)) model.delete(known)
  },
}

export async function readText(store: BlobStore, key: string): Promise<string | undefined> {
  const found = await store.read(key)
  return found === undefined ? undefined : (await collect(found.content)).toString()
}
