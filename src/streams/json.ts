import type { Json } from '../domain/json.ts'
import {
  inputImageBytesMax,
  inputImagesBytesMax,
  inputImagesMax,
  jsonDepthMax,
  jsonTokensMax,
  requestTextBytesMax,
} from '../domain/limits.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { Base64Alphabet } from './base64.ts'
import { createBase64Decoder } from './base64.ts'
import type { JsonIntakeFailure, JsonPath } from './intakeFailure.ts'
import { readJsonDocument } from './json/readJsonDocument.ts'

export type { JsonPath } from './intakeFailure.ts'
export type JsonFailure = JsonIntakeFailure
export type ImageBytes = { readonly path: JsonPath; readonly bytes: Buffer }
export type JsonRead = { readonly document: Json; readonly images: readonly ImageBytes[] }

/** A stand-in until the branch of the streams is merged. */
export async function readJson(
  body: Buffer,
  options: { isImage: (path: JsonPath) => boolean; alphabet: Base64Alphabet },
): Promise<Result<JsonRead, JsonFailure>> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < body.length; at += 65536) {
      await new Promise(setImmediate)
      yield body.subarray(at, at + 65536)
    }
  }
  const read = await readJsonDocument<Buffer>(pieces(), {
    divert: options.isImage,
    take: async (content) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of content) chunks.push(chunk)
      return Buffer.concat(chunks)
    },
    createDecoder: () => createBase64Decoder(options.alphabet),
    coverTexts: async () => {},
    depthMax: jsonDepthMax,
    tokensMax: jsonTokensMax,
    textBytesMax: requestTextBytesMax,
    unstorableText: 'refuse',
    equalKeys: 'refuse',
    divertedBytesMax: inputImageBytesMax,
    divertedTotalBytesMax: inputImagesBytesMax,
    divertedCountMax: inputImagesMax,
  })
  if (!read.ok) return fail(read.failure)
  const images = read.value.diverted.map(({ path, value }) => ({ path, bytes: value }))
  return succeed({ document: read.value.document, images })
}
