import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RandomBytes } from '../domain/ids.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
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
  /** Closes idle connections. Operations in progress fail. */
  readonly close: () => Promise<void>
}

/**
 * Opens the store that `BLOB_STORE` names: `file:///dir` or `s3://bucket/prefix`. S3 requests carry the
 * bucket in the path, which every S3 server understands, or with `?addressing=virtual` in the host name.
 * Throws an error with a plain sentence for any other address.
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

async function openS3(url: URL, { tempDir, ...deps }: BlobStoreDeps): Promise<OpenBlobStore> {
  // Loaded only here, because the S3 SDK is large.
  const { createS3BlobStore, createS3Client } = await import('./s3BlobStore.ts')
  const client = createS3Client({ pathStyle: url.searchParams.get('addressing') !== 'virtual' })
  const path = url.pathname.split('/').filter(Boolean).join('/')
  const store = await createS3BlobStore({
    ...deps,
    client,
    bucket: url.hostname,
    namePrefix: path === '' ? '' : `${path}/`,
    tempDirectory: join(tempDir, 'uploads'),
  })
  return { store, close: async () => client.destroy() }
}
