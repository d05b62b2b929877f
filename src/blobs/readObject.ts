import type { S3Client } from '@aws-sdk/client-s3'
import { GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3'
import type { BlobStore } from '../domain/blobStore.ts'
import { isS3Transient, s3Status } from './s3Error.ts'

export type ObjectPlace = { readonly bucket: string; readonly key: string }

/**
 * Fetched at a time, whole, into memory: a reader that pauses (a slow client of an asset, a slow
 * upstream) then holds neither a connection nor its timeout.
 */
const pieceBytes = 2 * 1024 * 1024
const triesMax = 3

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
      if (tries >= triesMax || !isS3Transient(error)) throw error
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
