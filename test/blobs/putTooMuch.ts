import { randomBytes } from 'node:crypto'
import { createFileBlobStore } from '../../src/blobs/fileBlobStore.ts'

/** fileBlobStore.test.ts runs this in a process that cannot write a file of 1 MiB. */
const directory = process.argv[2] ?? ''
const store = await createFileBlobStore({ directory, randomBytes })
await store.storeId()
const image = ['an1/image', randomBytes(1024 * 1024)] as const
const outcome = await store.put(image, ['an1/meta.json', Buffer.from('{}')]).then(
  () => 'stored',
  (error: unknown) =>
    error instanceof Error && 'code' in error ? `failed with ${String(error.code)}` : 'failed',
)
const found = (await store.read('an1/image')) ?? (await store.read('an1/meta.json'))
process.stdout.write(`${outcome}, found: ${found === undefined ? 'nothing' : 'something'}\n`)
