import { S3Client } from '@aws-sdk/client-s3'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { deleteObjects, putObject, readObject } from './s3Objects.ts'
import { createStagedBlobStore } from './stagedBlobStore.ts'
import type { TempFilesDeps } from './tempFiles.ts'

type S3BlobStoreDeps = TempFilesDeps & {
  readonly client: S3Client
  readonly bucket: string
  /** Prefix of every object name. Empty, or ends in `/`. */
  readonly namePrefix: string
}

/**
 * Blobs as objects of one bucket. A single PUT makes an object appear whole or not at all, and needs the
 * size and digest of the content beforehand.
 */
export async function createS3BlobStore(deps: S3BlobStoreDeps): Promise<BlobStore> {
  const { client, bucket, namePrefix } = deps
  const objectOf = (name: string) => ({ bucket, key: namePrefix + name })
  return await createStagedBlobStore(
    {
      publish: async (name, file, signal) => await putObject(client, objectOf(name), file, signal),
      read: async (name, range) => await readObject(client, objectOf(name), range),
      deletePrefix: async (prefix) =>
        await deleteObjects(client, bucket, `${namePrefix}${prefix}/`),
    },
    deps,
  )
}

/** When no answer, or no byte of a body, arrives for this long, the request is sent again. */
const idleMsMax = 10_000
/** From the start of a request to the headers of its answer: twice the time of 64 MiB at 2 MiB/s. */
const requestMsMax = 60_000
const connectMsMax = 3_000

/**
 * Creates an S3 client with timeouts, which the SDK does not have by default. The SDK reads region,
 * endpoint and credentials from its own environment variables. `maxAttempts` covers requests without a
 * stream. `putObject` repeats uploads itself, because it can open the file again.
 */
export function createS3Client(options: { readonly pathStyle: boolean }): S3Client {
  const agent = { keepAlive: true, maxSockets: 64 }
  return new S3Client({
    forcePathStyle: options.pathStyle,
    maxAttempts: 3,
    retryMode: 'standard',
    // The SDK prints retry warnings to the console by default. Failures reach the caller as errors.
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
