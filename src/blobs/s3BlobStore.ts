import { S3Client } from '@aws-sdk/client-s3'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RandomBytes } from '../domain/ids.ts'
import { randomText } from '../domain/ids.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import { assertBlobKey, assertBlobPrefix } from './blobKey.ts'
import { deleteObjects, putObject, readObject } from './s3Objects.ts'
import { sweepTempFiles, tempFileIdleMsMax, writeTempFile } from './tempFiles.ts'

export type S3BlobStoreDeps = {
  readonly client: S3Client
  readonly bucket: string
  /** Prefix of every object name: empty, or ending in `/`. */
  readonly namePrefix: string
  /** Uploads are spooled here first: their size and digest must be known before the one PUT. */
  readonly tempDirectory: string
  readonly randomBytes: RandomBytes
  readonly nowMs: () => number
}

/** Blobs as objects of one bucket. A single PUT makes an object appear whole or not at all. */
export async function createS3BlobStore(deps: S3BlobStoreDeps): Promise<BlobStore> {
  const { client, bucket, namePrefix, tempDirectory, randomBytes, nowMs } = deps
  await mkdir(tempDirectory, { recursive: true, mode: 0o700 })
  let sweptAtMs = nowMs()
  await sweepTempFiles(tempDirectory, sweptAtMs)

  const put = async (
    name: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal | undefined,
  ) => {
    if (nowMs() - sweptAtMs >= tempFileIdleMsMax) {
      sweptAtMs = nowMs()
      await sweepTempFiles(tempDirectory, sweptAtMs)
    }
    const uploadMark = randomText(randomBytes, 32)
    const path = join(tempDirectory, uploadMark)
    const file = await writeTempFile(path, content, signal)
    try {
      const key = namePrefix + name
      const optional = signal === undefined ? {} : { signal }
      await putObject(client, { bucket, key, path, file, uploadMark, ...optional })
    } finally {
      await rm(path, { force: true })
    }
    return file
  }

  return {
    put: async (key, content, { signal }) => {
      assertBlobKey(key)
      return await put(key, content, signal)
    },
    read: async (key, range) => {
      assertBlobKey(key)
      return await readObject(client, { bucket, key: namePrefix + key }, range)
    },
    deletePrefix: async (prefix) => {
      assertBlobPrefix(prefix)
      await deleteObjects(client, bucket, `${namePrefix}${prefix}/`)
    },
    storeId: async () => {
      const at = { bucket, key: `${namePrefix}.store-id` }
      const found = await readText(client, at)
      if (found !== undefined) return found
      try {
        await put('.store-id', oneChunk(Buffer.from(randomText(randomBytes, 32))), undefined)
      } catch (error) {
        if (!(error instanceof BlobExistsError)) throw error
      }
      const written = await readText(client, at)
      if (written === undefined)
        throw new Error('The blob store lost its id right after writing it')
      return written
    },
  }
}

async function readText(
  client: S3Client,
  at: { readonly bucket: string; readonly key: string },
): Promise<string | undefined> {
  const found = await readObject(client, at)
  if (found === undefined) return undefined
  const chunks: Uint8Array[] = []
  for await (const chunk of found.content) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

async function* oneChunk(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(chunk)
}

/** No answer, or no byte of a body, for this long: the request is given up and tried again. */
const idleMsMax = 10_000
/** One request from its start to the end of the answer's headers: 64 MiB at 2 MiB/s, doubled. */
const requestMsMax = 60_000
const connectMsMax = 3_000

/**
 * The SDK's defaults have no timeouts at all; these are ours. Region, endpoint and credentials come from
 * the AWS SDK's own variables (design section 3, `BLOB_STORE`). `maxAttempts` covers requests without a
 * stream; uploads are retried by `putObject`, which can open its file again.
 */
export function createS3Client(options: { readonly pathStyle: boolean }): S3Client {
  const agent = { keepAlive: true, maxSockets: 64 }
  return new S3Client({
    forcePathStyle: options.pathStyle,
    maxAttempts: 3,
    retryMode: 'standard',
    // The SDK would print its retry warnings to the console; what failed reaches us as errors.
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
