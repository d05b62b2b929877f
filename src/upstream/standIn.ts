import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import type { Json } from '../domain/json.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import {
  outputImageBytesMax,
  upstreamAnswerBytesMax,
  upstreamAnswerTextBytesMax,
  upstreamAnswerTokensMax,
} from '../domain/limits.ts'
import { createLenientBase64Decoder } from '../streams/base64.ts'
import type { ContentCoding } from '../streams/decodeContent.ts'
import { createWholeImageCheck } from '../streams/images/wholeImage.ts'
import type { JsonIntakeFailure, JsonPath } from '../streams/intakeFailure.ts'
import { readJsonDocument } from '../streams/json/readJsonDocument.ts'
import type { WholeImage } from '../streams/images/imageWalks.ts'
export type { ContentCoding } from '../streams/decodeContent.ts'
export { parseContentEncoding } from '../streams/decodeContent.ts'
export type { WholeImage } from '../streams/images/imageWalks.ts'

export type ImageBytes = { readonly path: JsonPath; readonly bytes: Buffer }
export type JsonRead = { readonly document: Json; readonly images: readonly ImageBytes[] }

export async function readLenientJson(
  body: Buffer,
  { isImage }: { isImage: (path: JsonPath) => boolean },
): Promise<Result<JsonRead, JsonIntakeFailure>> {
  async function* source() {
    let depth = 0
    let quoted = false
    let at = 0
    for (; at < body.length; at += 1) {
      const byte = body[at]
      if (quoted) {
        if (byte === 0x5c) at += 1
        else if (byte === 0x22) quoted = false
      } else if (byte === 0x22) quoted = true
      else if (byte === 0x7b || byte === 0x5b) depth += 1
      else if (byte === 0x7d || byte === 0x5d) {
        depth -= 1
        if (depth <= 0) break
      }
    }
    yield body.subarray(0, at + 1)
  }
  const read = await readJsonDocument(source(), {
    depthMax: 64,
    tokensMax: upstreamAnswerTokensMax,
    textBytesMax: upstreamAnswerTextBytesMax,
    unstorableText: 'replace',
    equalKeys: 'last',
    divertedBytesMax: outputImageBytesMax,
    divertedTotalBytesMax: upstreamAnswerBytesMax,
    divertedCountMax: upstreamAnswerTokensMax,
    createDecoder: createLenientBase64Decoder,
    divert: isImage,
    take: async (content) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of content) chunks.push(chunk)
      return Buffer.concat(chunks)
    },
  })
  if (!read.ok) return read
  const images = read.value.diverted.map(({ path, value }) => ({ path, bytes: value }))
  return succeed({ document: read.value.document, images })
}

export function wholeImage(bytes: Uint8Array): WholeImage | undefined {
  const check = createWholeImageCheck()
  check.push(bytes)
  return check.finish()
}

export async function unpack(
  body: Buffer,
  coding: ContentCoding,
  bytesMax: number,
  _options?: { trailing: 'ignore' },
): Promise<Result<Buffer, { tag: 'too_large' } | { tag: 'corrupt_coding' }>> {
  const options = { maxOutputLength: bytesMax, finishFlush: zlib.constants.Z_SYNC_FLUSH }
  const brotli = { maxOutputLength: bytesMax, finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }
  try {
    if (coding === 'gzip') return succeed(await promisify(zlib.gunzip)(body, options))
    if (coding === 'deflate') return succeed(await promisify(zlib.inflate)(body, options))
    if (coding === 'br') return succeed(await promisify(zlib.brotliDecompress)(body, brotli))
    return succeed(await promisify(zlib.zstdDecompress)(body, { maxOutputLength: bytesMax }))
  } catch (error) {
    const isLarge =
      error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    return fail(isLarge ? { tag: 'too_large' } : { tag: 'corrupt_coding' })
  }
}
