import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { RandomBytes } from '../domain/ids.ts'
import { createFileBlobStore } from './fileBlobStore.ts'

type BlobStoreDeps = {
  readonly randomBytes: RandomBytes
  /** Epoch milliseconds, compared with file times only. */
  readonly nowMs: () => number
  /** Local directory of this process alone, for uploads on their way to S3. */
  readonly tempDir: string
}

export type OpenBlobStore = {
  readonly store: BlobStore
  /** Closes idle connections. Operations under way fail. */
  readonly close: () => Promise<void>
}

/**
 * The store named by `BLOB_STORE` (design section 3): `file:///dir` or `s3://bucket/prefix`. Path-style
 * addressing is the default, which every S3 server understands; `?addressing=virtual` for those that
 * want the bucket in the host name. The S3 SDK is loaded only when asked for: it is heavy.
 * Throws a plain sentence for any other address.
 */
export async function openBlobStore(url: string, deps: BlobStoreDeps): Promise<OpenBlobStore> {
  const parsed = URL.parse(url)
  if (parsed?.protocol === 'file:' && parsed.hostname === '') {
    const directory = fileURLToPath(parsed)
    return { store: await createFileBlobStore({ ...deps, directory }), close: async () => {} }
  }
  if (parsed?.protocol === 's3:' && parsed.hostname !== '') return await openS3(parsed, deps)
  throw new Error('BLOB_STORE must be file:///absolute/directory or s3://bucket/prefix')
}

async function openS3(url: URL, deps: BlobStoreDeps): Promise<OpenBlobStore> {
  const [{ createS3Client }, { createS3BlobStore }] = await Promise.all([
    import('./s3BlobStore.ts'),
    import('./s3BlobStore.ts'),
  ])
  const client = createS3Client({ pathStyle: url.searchParams.get('addressing') !== 'virtual' })
  const path = url.pathname.split('/').filter(Boolean).join('/')
  const store = await createS3BlobStore({
    client,
    bucket: url.hostname,
    namePrefix: path === '' ? '' : `${path}/`,
    tempDirectory: join(deps.tempDir, 'uploads'),
    randomBytes: deps.randomBytes,
    nowMs: deps.nowMs,
  })
  return {
    store,
    close: async () => {
      client.destroy()
      await Promise.resolve()
    },
  }
}
