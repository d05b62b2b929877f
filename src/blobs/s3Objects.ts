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
import type { WrittenFile } from './tempFiles.ts'

const triesMax = 4
const firstBackoffMs = 100

type PutObject = {
  readonly bucket: string
  readonly key: string
  readonly path: string
  readonly file: WrittenFile
  /** Random per put, kept as metadata: tells our own object, stored by a try whose answer was lost. */
  readonly uploadMark: string
  readonly signal?: AbortSignal
}

/**
 * Uploads a file create-only: `If-None-Match: *` makes the object store decide between two writers, 412
 * when the key exists, 409 while another write of it is under way (research reliability.md section 1,
 * S3). The SHA-256 travels along and is checked by the store. At most `triesMax` tries.
 */
export async function putObject(client: S3Client, put: PutObject): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await sendPut(client, put)
      return
    } catch (error) {
      if (s3Status(error) === 412) {
        if (tries > 1 && (await isOurs(client, put))) return
        throw new BlobExistsError('The blob exists already')
      }
      if (tries >= triesMax || put.signal?.aborted === true || !isS3Transient(error)) throw error
    }
    await sleep(firstBackoffMs * 2 ** (tries - 1), undefined, abortable(put.signal))
  }
}

async function sendPut(client: S3Client, put: PutObject): Promise<void> {
  const body = createReadStream(put.path)
  try {
    await client.send(
      new PutObjectCommand({
        Bucket: put.bucket,
        Key: put.key,
        Body: body,
        ContentLength: put.file.bytes,
        ChecksumSHA256: Buffer.from(put.file.sha256, 'hex').toString('base64'),
        IfNoneMatch: '*',
        Metadata: { upload: put.uploadMark },
      }),
      put.signal === undefined ? {} : { abortSignal: put.signal },
    )
  } finally {
    body.destroy()
  }
}

async function isOurs(client: S3Client, put: PutObject): Promise<boolean> {
  const head = await client.send(new HeadObjectCommand({ Bucket: put.bucket, Key: put.key }))
  return head.Metadata?.['upload'] === put.uploadMark
}

function abortable(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}

type ObjectPlace = { readonly bucket: string; readonly key: string }

/**
 * Fetched at a time, whole, into memory: a reader that pauses (a slow client of an asset, a slow
 * upstream) then holds neither a connection nor its timeout.
 */
const pieceBytes = 2 * 1024 * 1024
const pieceTriesMax = 3

/** The size at once, the bytes only when iterated. */
export async function readObject(
  client: S3Client,
  at: ObjectPlace,
  range?: { readonly first: number; readonly last: number },
): ReturnType<BlobStore['read']> {
  const size = await objectSize(client, at)
  if (size === undefined) return undefined
  const first = range?.first ?? 0
  const last = Math.min(range?.last ?? size - 1, size - 1)
  const content = async function* (): AsyncGenerator<Uint8Array> {
    for (let start = first; start <= last; start += pieceBytes) {
      yield await fetchPiece(client, at, start, Math.min(start + pieceBytes - 1, last))
    }
  }
  return { bytes: Math.max(0, last - first + 1), content: content() }
}

/** The SDK repeats a request without an answer; an answer that breaks off is repeated here. */
async function fetchPiece(
  client: S3Client,
  at: ObjectPlace,
  first: number,
  last: number,
): Promise<Uint8Array> {
  for (let tries = 1; ; tries += 1) {
    try {
      const range = `bytes=${first}-${last}`
      const answer = await client.send(
        new GetObjectCommand({ Bucket: at.bucket, Key: at.key, Range: range }),
      )
      const piece = await answer.Body?.transformToByteArray()
      if (piece?.length === last - first + 1) return piece
      throw new Error('The blob store sent another number of bytes than asked for')
    } catch (error) {
      if (tries >= pieceTriesMax || !isS3Transient(error)) throw error
    }
  }
}

async function objectSize(client: S3Client, at: ObjectPlace): Promise<number | undefined> {
  try {
    const head = await client.send(new HeadObjectCommand({ Bucket: at.bucket, Key: at.key }))
    return head.ContentLength ?? 0
  } catch (error) {
    if (s3Status(error) === 404) return undefined
    throw error
  }
}

/** Removes every object whose name begins with `prefix`, a page of at most 1,000 at a time. */
export async function deleteObjects(
  client: S3Client,
  bucket: string,
  prefix: string,
): Promise<void> {
  let token: string | undefined
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
}

/** The HTTP status behind an error of the S3 SDK; `undefined` when no answer came. */
function s3Status(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}

/** Whether another try may succeed: no answer, a conflict of conditional writes, throttled, server trouble. */
function isS3Transient(error: unknown): boolean {
  const status = s3Status(error)
  return status === undefined || status === 408 || status === 409 || status === 429 || status >= 500
}
