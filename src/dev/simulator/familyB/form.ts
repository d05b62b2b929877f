import type { BusboyFileStream } from '@fastify/busboy'
import { Busboy } from '@fastify/busboy'
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { defined } from '../../../domain/defined.ts'
import type { SourceImage } from '../imageOrder.ts'
import { sniffImage } from '../imageOrder.ts'

/**
 * A file part. `declaredType` is the type in the part's headers. `source.mimeType` is the type of its bytes.
 */
export type FormFile = {
  readonly field: string
  readonly declaredType: string
  readonly tooLarge: boolean
  readonly source: SourceImage
}

export type Form = {
  readonly fields: readonly (readonly [string, string])[]
  readonly files: readonly FormFile[]
  readonly bytes: number
  readonly sha256: string
}

/** The vendor's limit for the bytes of one image. */
const fileBytesMax = 50 * 1024 * 1024
/**
 * Limit for the files that are read. Higher than the vendor's limit of 16 images and a mask, so that the
 * later checks can answer a request with too many images.
 */
const filesMax = 40
const fieldsMax = 60
const fieldBytesMax = 32 * 1024 * 1024

/**
 * Reads a multipart body as a stream. Hashes every file, and keeps only the first file in memory. Returns
 * `undefined` when the form is malformed. Throws when the client leaves before the end.
 */
export async function readForm(request: IncomingMessage): Promise<Form | undefined> {
  const contentType = request.headers['content-type'] ?? ''
  const hash = createHash('sha256')
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    hash.update(chunk)
    bytes += chunk.length
  })
  const parts = await readParts(request, contentType).catch((error: unknown) => {
    if (request.destroyed && !request.complete) throw error
    return undefined
  })
  return parts === undefined ? undefined : { ...parts, bytes, sha256: hash.digest('hex') }
}

function readParts(
  request: IncomingMessage,
  contentType: string,
): Promise<Pick<Form, 'fields' | 'files'>> {
  const fields: [string, string][] = []
  const files: Promise<FormFile>[] = []
  return new Promise((resolve, reject) => {
    const form = new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        fileSize: fileBytesMax,
        files: filesMax,
        fields: fieldsMax,
        fieldSize: fieldBytesMax,
      },
    })
    const fail = (error: unknown): void => {
      request.unpipe(form)
      request.resume()
      reject(error)
    }
    form.on('field', (name, value) => fields.push([name, value]))
    form.on('file', (field, stream, _name, _encoding, type) => {
      const file = readFile(field, type, stream, files.length === 0)
      file.catch(fail)
      files.push(file)
    })
    form.once('error', fail)
    form.once('finish', () => {
      Promise.all(files).then((read) => resolve({ fields, files: read }), reject)
    })
    request.once('close', () => {
      if (!request.complete) reject(new Error('The client left while sending the form'))
    })
    request.pipe(form)
  })
}

async function readFile(
  field: string,
  declaredType: string,
  stream: BusboyFileStream,
  keep: boolean,
): Promise<FormFile> {
  const hash = createHash('sha256')
  const kept: Buffer[] = []
  let head = Buffer.alloc(0)
  let sizeBytes = 0
  const received: AsyncIterable<Buffer> = stream
  for await (const chunk of received) {
    hash.update(chunk)
    sizeBytes += chunk.length
    if (head.length < 16) head = Buffer.concat([head, chunk]).subarray(0, 16)
    if (keep) kept.push(chunk)
  }
  const source = {
    mimeType: sniffImage(head) ?? 'unknown',
    sha256: hash.digest('hex'),
    sizeBytes,
    ...defined({ bytes: keep ? Buffer.concat(kept) : undefined }),
  }
  return { field, declaredType, tooLarge: stream.truncated, source }
}
