import type { S3Client } from '@aws-sdk/client-s3'
import { GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3'
import { Readable } from 'node:stream'
import type { BlobStore } from '../domain/blobStore.ts'
import { s3Status } from './s3Error.ts'

/**
 * The size at once, the bytes only when iterated: an answer whose body nobody reads would keep one of the
 * client's sockets for ever.
 */
export async function readObject(
  client: S3Client,
  at: { readonly bucket: string; readonly key: string },
  range?: { readonly first: number; readonly last: number },
): ReturnType<BlobStore['read']> {
  const size = await objectSize(client, at)
  if (size === undefined) return undefined
  const first = range?.first ?? 0
  const last = Math.min(range?.last ?? size - 1, size - 1)
  const bytes = Math.max(0, last - first + 1)
  const content = async function* (): AsyncGenerator<Uint8Array> {
    if (bytes === 0) return
    const answer = await client.send(
      new GetObjectCommand({ Bucket: at.bucket, Key: at.key, Range: `bytes=${first}-${last}` }),
    )
    if (!(answer.Body instanceof Readable)) throw new Error('The blob store sent no body')
    yield* exactly(answer.Body, bytes)
  }
  return { bytes, content: content() }
}

/** A connection cut in the middle must not pass for a short blob. */
async function* exactly(body: Readable, bytes: number): AsyncGenerator<Uint8Array> {
  let read = 0
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) throw new Error('Bug: a blob body yields bytes')
    read += chunk.byteLength
    yield chunk
  }
  if (read !== bytes) throw new Error('The blob store sent another number of bytes than announced')
}

async function objectSize(
  client: S3Client,
  at: { readonly bucket: string; readonly key: string },
): Promise<number | undefined> {
  try {
    const head = await client.send(new HeadObjectCommand({ Bucket: at.bucket, Key: at.key }))
    return head.ContentLength ?? 0
  } catch (error) {
    if (s3Status(error) === 404) return undefined
    throw error
  }
}
