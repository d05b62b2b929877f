import { fileURLToPath } from 'node:url'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { createFileBlobStore } from './fileBlobStore.ts'

export type OpenBlobStore = {
  readonly store: BlobStore
  /** Closes idle connections. Operations in progress fail. */
  readonly close: () => Promise<void>
}

/**
 * Opens the store that `BLOB_STORE` names: `file:///dir` or `s3://bucket/prefix`. By default, an S3 request
 * has the bucket in its path, which every S3 server understands. With `?addressing=virtual`, the bucket is in
 * the host name. Any other address throws, because the configuration has refused it.
 */
export async function openBlobStore(url: string): Promise<OpenBlobStore> {
  const parsed = URL.parse(url)
  if (parsed?.protocol === 'file:' && parsed.hostname === '') {
    const directory = fileURLToPath(parsed)
    return { store: await createFileBlobStore(directory), close: async () => {} }
  }
  if (parsed?.protocol === 's3:' && parsed.hostname !== '') return await openS3(parsed)
  throw new Error('Bug: BLOB_STORE is of no known form')
}

async function openS3(url: URL): Promise<OpenBlobStore> {
  // Loaded only when it is needed, because the S3 SDK is large.
  const { createS3BlobStore, createS3Client } = await import('./s3BlobStore.ts')
  const client = createS3Client({ pathStyle: url.searchParams.get('addressing') !== 'virtual' })
  const path = url.pathname.split('/').filter(Boolean).join('/')
  const namePrefix = path === '' ? '' : `${path}/`
  const store = createS3BlobStore({ client, bucket: url.hostname, namePrefix })
  return { store, close: async () => client.destroy() }
}
