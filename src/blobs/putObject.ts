import type { S3Client } from '@aws-sdk/client-s3'
import { HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { createReadStream } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { BlobExistsError } from '../domain/blobStore.ts'
import { isS3Transient, s3Status } from './s3Error.ts'
import type { WrittenFile } from './writeTempFile.ts'

const triesMax = 4
const firstBackoffMs = 100

export type PutObject = {
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
