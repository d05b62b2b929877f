import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { Readable } from 'node:stream'
import { defined } from '../domain/defined.ts'
import { randomText } from '../domain/ids.ts'
import type { BlobStore, ByteRange, FoundBlob, PresignOptions } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import type { BlobBackend } from './createBlobStore.ts'
import { createBlobStore } from './createBlobStore.ts'

type S3BlobStoreDeps = {
  readonly client: S3Client
  readonly bucket: string
  /** The start of every object name. Either empty, or ends in `/`. */
  readonly namePrefix: string
}

type ObjectName = { readonly Bucket: string; readonly Key: string }

/**
 * Creates a store that keeps blobs as objects of one bucket. A single PUT stores an object either completely or not at
 * all.
 */
export function createS3BlobStore(deps: S3BlobStoreDeps): BlobStore {
  const { client, bucket, namePrefix } = deps
  const objectOf = (name: string): ObjectName => ({ Bucket: bucket, Key: namePrefix + name })
  const backend: BlobBackend = {
    put: async (blobs) => {
      let exists = false
      for (const [name, bytes] of blobs) {
        const mark = randomText(32)
        exists = !(await putObject(client, objectOf(name), bytes, mark)) || exists
      }
      if (exists) throw new BlobExistsError('The blob exists already')
    },
    read: async (name, range) => await readObject(client, objectOf(name), range),
    bytesOf: async (name) => await objectBytes(client, objectOf(name)),
    deletePrefix: async (prefix) => await deleteObjects(client, bucket, `${namePrefix}${prefix}/`),
  }
  return {
    ...createBlobStore(backend),
    presign: async (key, options) => await presign(client, objectOf(key), options),
  }
}

async function presign(
  client: S3Client,
  name: ObjectName,
  { livesSeconds, contentType, contentDisposition, cacheControl }: PresignOptions,
): Promise<string> {
  const request = new GetObjectCommand({
    ...name,
    ResponseContentType: contentType,
    ResponseContentDisposition: contentDisposition,
    ResponseCacheControl: cacheControl,
  })
  return await getSignedUrl(client, request, { expiresIn: livesSeconds })
}

/**
 * Uploads the bytes, or returns false when the key exists. With `If-None-Match: *` the object store itself decides between two
 * writers: it answers 412 when the key exists. The SDK sends a request again after a lost answer, so the object may be
 * our own: its metadata then has the random mark of this upload.
 */
async function putObject(
  client: S3Client,
  name: ObjectName,
  bytes: Uint8Array,
  mark: string,
): Promise<boolean> {
  try {
    await client.send(
      new PutObjectCommand({ ...name, Body: bytes, IfNoneMatch: '*', Metadata: { upload: mark } }),
    )
    return true
  } catch (error) {
    if (statusOf(error) !== 412) throw error
    const found = await client.send(new HeadObjectCommand(name))
    return found.Metadata?.['upload'] === mark
  }
}

/**
 * Asks for the object. Its body arrives while `content` is read. A body that breaks off fails, because Node compares
 * it with the length that the answer gave. A body that nobody reads holds its connection, and fails after `idleMsMax`.
 */
async function readObject(
  client: S3Client,
  name: ObjectName,
  range?: ByteRange,
): Promise<FoundBlob | undefined> {
  try {
    const wanted = range === undefined ? undefined : `bytes=${range.first}-${range.last}`
    const answer = await client.send(
      new GetObjectCommand({ ...name, ...defined({ Range: wanted }) }),
    )
    const { Body: content, ContentLength: bytes } = answer
    if (!(content instanceof Readable)) throw new Error('The blob store gave no content')
    // It may fail before anybody reads it, and an error that nobody hears ends the process.
    content.on('error', () => {})
    const close = () => void content.destroy()
    if (bytes !== undefined) return { bytes, content, close }
    close()
    throw new Error('The blob store gave no length')
  } catch (error) {
    if (statusOf(error) === 404) return undefined
    throw error
  }
}

async function objectBytes(client: S3Client, name: ObjectName): Promise<number | undefined> {
  try {
    const { ContentLength: bytes } = await client.send(new HeadObjectCommand(name))
    if (bytes === undefined) throw new Error('The blob store gave no length')
    return bytes
  } catch (error) {
    if (statusOf(error) === 404) return undefined
    throw error
  }
}

/** Removes every object whose key begins with `prefix`. Returns whether there was any object. */
async function deleteObjects(client: S3Client, bucket: string, prefix: string): Promise<boolean> {
  let found = false
  for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })) {
    const objects = (page.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]))
    if (objects.length === 0) continue
    found = true
    const answer = await client.send(
      new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: objects, Quiet: true } }),
    )
    const refused = answer.Errors?.[0]
    if (refused !== undefined) {
      throw new Error(`The blob store refused a deletion: ${refused.Code ?? 'no code'}`)
    }
  }
  return found
}

/** Returns the HTTP status of an error, if an answer arrived. */
function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}

/**
 * How long a connection to S3 may carry nothing. As long as a client may leave its answer unread (`server.ts`), because
 * a client that reads slowly pauses the connection that its image comes from.
 */
const idleMsMax = 60_000
/**
 * Limit for the time from the start of a request to the headers of its answer. Almost twice the time that 64 MiB
 * take at 2 MiB/s.
 */
const requestMsMax = 60_000
const connectMsMax = 3_000

/**
 * Creates an S3 client with timeouts, because the SDK has none by default. The SDK reads region, endpoint and
 * credentials from its own environment variables. It sends a request up to four times. The number of connections has no
 * limit: each download holds one, and slow readers must not keep an answer from being stored.
 */
export function createS3Client(options: { readonly pathStyle: boolean }): S3Client {
  const agent = { keepAlive: true, maxSockets: Infinity }
  return new S3Client({
    forcePathStyle: options.pathStyle,
    maxAttempts: 4,
    retryMode: 'standard',
    // The SDK would open a connection of its own for each body of 2 MiB or more, and wait for a 100 (Continue).
    expectContinueHeader: false,
    // The SDK would warn on the console when it repeats a request. A failure still reaches the caller.
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
