import type { S3Client } from '@aws-sdk/client-s3'
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { createReadStream } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../domain/defined.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import type { TempFile } from './tempFiles.ts'

type ObjectName = { readonly bucket: string; readonly key: string }

const triesMax = 4
const firstBackoffMs = 100

/**
 * Uploads a file unless the key exists. Makes at most `triesMax` tries. The request has `If-None-Match: *`,
 * so the object store itself decides between two writers: it answers 412 when the key exists, and 409 while
 * another write of the same key is in progress. The object store also checks the SHA-256. Throws
 * `BlobExistsError` when the key exists.
 */
export async function putObject(
  client: S3Client,
  name: ObjectName,
  file: TempFile,
  signal?: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await sendPut(client, name, file, signal)
      return
    } catch (error) {
      if (s3Status(error) === 412) {
        // The object may be our own: an earlier try may have stored it, and only the answer was lost.
        if (tries > 1 && (await isOwnObject(client, name, file))) return
        throw new BlobExistsError('The blob exists already')
      }
      if (tries >= triesMax || signal?.aborted === true || !isS3Transient(error)) throw error
    }
    await sleep(firstBackoffMs * 2 ** (tries - 1), undefined, defined({ signal }))
  }
}

async function sendPut(
  client: S3Client,
  { bucket, key }: ObjectName,
  file: TempFile,
  signal: AbortSignal | undefined,
): Promise<void> {
  const body = createReadStream(file.path)
  try {
    await client.send(
      new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: body,
        ContentLength: file.bytes,
        ChecksumSHA256: Buffer.from(file.sha256, 'hex').toString('base64'),
        IfNoneMatch: '*',
        Metadata: { upload: file.name },
      }),
      defined({ abortSignal: signal }),
    )
  } finally {
    body.destroy()
  }
}

/**
 * Returns whether this upload stored the object. The metadata of an object contains the random name of the
 * temporary file that was uploaded.
 */
async function isOwnObject(
  client: S3Client,
  { bucket, key }: ObjectName,
  file: TempFile,
): Promise<boolean> {
  const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))
  return head.Metadata?.['upload'] === file.name
}

/**
 * How many bytes are fetched from S3 at a time. Each piece is fetched completely into memory. So while a slow
 * reader pauses (a client or an upstream), no request to S3 is under way that could time out. About three pieces
 * are in memory for each reader: one in its socket, one in the stream before it, and one that is being fetched.
 */
const pieceBytes = 256 * 1024
const pieceTriesMax = 3

/** Asks for the size at once. Asks for the bytes only when `content` is read. */
export async function readObject(
  client: S3Client,
  name: ObjectName,
  range?: { readonly first: number; readonly last: number },
): ReturnType<BlobStore['read']> {
  const size = await objectSize(client, name)
  if (size === undefined) return undefined
  const first = range?.first ?? 0
  const last = Math.min(range?.last ?? size - 1, size - 1)
  const content = async function* (): AsyncGenerator<Uint8Array> {
    for (let start = first; start <= last; start += pieceBytes) {
      yield await fetchPiece(client, name, start, Math.min(start + pieceBytes - 1, last))
    }
  }
  return { bytes: Math.max(0, last - first + 1), content: content() }
}

/**
 * Fetches one piece. When the body of an answer breaks off, sends the request again, which the SDK does not do.
 */
async function fetchPiece(
  client: S3Client,
  name: ObjectName,
  first: number,
  last: number,
): Promise<Uint8Array> {
  for (let tries = 1; ; tries += 1) {
    try {
      const range = `bytes=${first}-${last}`
      const answer = await client.send(
        new GetObjectCommand({ Bucket: name.bucket, Key: name.key, Range: range }),
      )
      const piece = await answer.Body?.transformToByteArray()
      if (piece?.length === last - first + 1) return piece
      throw new Error('The blob store sent another number of bytes than asked for')
    } catch (error) {
      if (tries >= pieceTriesMax || !isS3Transient(error)) throw error
    }
  }
}

async function objectSize(client: S3Client, name: ObjectName): Promise<number | undefined> {
  try {
    const head = await client.send(new HeadObjectCommand({ Bucket: name.bucket, Key: name.key }))
    return head.ContentLength ?? 0
  } catch (error) {
    if (s3Status(error) === 404) return undefined
    throw error
  }
}

/**
 * Removes every object whose key begins with `prefix`. Reads the listing one page (1,000 objects) at a time.
 * Returns whether there was any object.
 */
export async function deleteObjects(
  client: S3Client,
  bucket: string,
  prefix: string,
): Promise<boolean> {
  let token: string | undefined
  let found = false
  do {
    const page = await client.send(
      new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        ...defined({ ContinuationToken: token }),
      }),
    )
    const objects = (page.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]))
    if (objects.length > 0) {
      found = true
      const answer = await client.send(
        new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: objects, Quiet: true } }),
      )
      const refused = answer.Errors?.[0]
      if (refused !== undefined) {
        throw new Error(`The blob store refused a deletion: ${refused.Code ?? 'no code'}`)
      }
    }
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined
  } while (token !== undefined)
  return found
}

/** Returns the HTTP status of an error, or `undefined` when it has none, because no answer arrived for example. */
function s3Status(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}

/**
 * Returns whether another try may succeed: after an error without an HTTP status (no answer arrived, or a broken
 * one), a timeout (408), a conflict of two writes (409), throttling (429) or a server error.
 */
function isS3Transient(error: unknown): boolean {
  const status = s3Status(error)
  return status === undefined || status === 408 || status === 409 || status === 429 || status >= 500
}
