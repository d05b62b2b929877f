import { S3Client } from '@aws-sdk/client-s3'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { deleteObjects, putObject, readObject } from './s3Objects.ts'
import { createStagedBlobStore } from './stagedBlobStore.ts'
import type { TempFilesDeps } from './tempFiles.ts'

type S3BlobStoreDeps = TempFilesDeps & {
  readonly client: S3Client
  readonly bucket: string
  /** The start of every object name. Either empty, or ends in `/`. */
  readonly namePrefix: string
}

/**
 * Creates a store that keeps blobs as objects of one bucket. A single PUT stores an object either completely
 * or not at all. It needs the size and the digest of the content in advance.
 */
export async function createS3BlobStore(deps: S3BlobStoreDeps): Promise<BlobStore> {
  const { client, bucket, namePrefix } = deps
  const objectOf = (name: string) => ({ bucket, key: namePrefix + name })
  return await createStagedBlobStore(
    {
      publish: async (name, file, { signal }) =>
        await putObject(client, objectOf(name), file, signal),
      read: async (name, range) => await readObject(client, objectOf(name), range),
      deletePrefix: async (prefix) =>
        await deleteObjects(client, bucket, `${namePrefix}${prefix}/`),
    },
    deps,
  )
}

/**
 * How long S3 may send nothing while a request waits for an answer or for a byte of its body. After that the
 * request is sent again.
 */
const idleMsMax = 10_000
/**
 * Limit for the time from the start of a request to the headers of its answer. Almost twice the time that 64 MiB
 * take at 2 MiB/s.
 */
const requestMsMax = 60_000
const connectMsMax = 3_000

/**
 * Creates an S3 client with timeouts, because the SDK has none by default. The SDK reads region, endpoint and
 * credentials from its own environment variables. `maxAttempts` applies only to requests that have no stream
 * as their body. `putObject` repeats an upload itself, because it can open the file again.
 */
export function createS3Client(options: { readonly pathStyle: boolean }): S3Client {
  const agent = { keepAlive: true, maxSockets: 64 }
  return new S3Client({
    forcePathStyle: options.pathStyle,
    maxAttempts: 3,
    retryMode: 'standard',
    // The SDK would print warnings to the console when it repeats a request. A failure still reaches the
    // caller as an error.
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    requestHandler: {
      connectionTimeout: connectMsMax,
      requestTimeout: requestMsMax,
      throwOnRequestTimeout: true,
      socketTimeout: idleMsMax,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
}

function silent(): void {}
