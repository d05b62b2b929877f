import type { InputImage } from './apiTypes.ts'
import { DarkroomError } from './darkroomError.ts'
import { filesModule } from './runtime.ts'

/** A source image: its bytes, a Blob or File, a stream, or where a program has files, the path of one. */
export type SourceImage =
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | string
  | URL

/** The limits of the API: checked before anything is read or sent. */
const imagesMax = 16
const imageBytesMax = 20 * 1_048_576
const allBytesMax = 64 * 1_048_576
const letters = new TextEncoder().encode(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
)
const padding = '='.charCodeAt(0)

/** Reads source images into the form of a request. Throws for what the API would refuse, without sending it. */
export async function readSourceImages(
  sources: readonly SourceImage[],
): Promise<readonly InputImage[]> {
  if (sources.length === 0 || sources.length > imagesMax) {
    throw wrong('images', `takes 1 to ${imagesMax} images`)
  }
  const read: { readonly mime_type: InputImage['mime_type']; readonly bytes: Uint8Array }[] = []
  let allBytes = 0
  for (const [index, source] of sources.entries()) {
    const param = `images[${index}]`
    const size = await sizeOf(source)
    if (size !== undefined && size > imageBytesMax) throw tooLarge(param)
    const bytes = await bytesOf(source)
    if (bytes.length > imageBytesMax) throw tooLarge(param)
    allBytes += bytes.length
    if (allBytes > allBytesMax) throw wrong('images', 'takes 64 MiB together')
    read.push({ mime_type: typeOf(bytes, param), bytes })
  }
  return read.map(({ mime_type, bytes }) => ({ mime_type, data: base64(bytes) }))
}

async function sizeOf(source: SourceImage): Promise<number | undefined> {
  if (source instanceof Blob) return source.size
  if (source instanceof ReadableStream) return undefined
  if (typeof source === 'string' || source instanceof URL) {
    return (await (await filesModule()).stat(source)).size
  }
  return source.byteLength
}

async function bytesOf(source: SourceImage): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source
  if (typeof source === 'string' || source instanceof URL) {
    return (await filesModule()).readFile(source)
  }
  return new Uint8Array(await new Response(source).arrayBuffer())
}

/** The type of an image by its first bytes. */
function typeOf(bytes: Uint8Array, param: string): InputImage['mime_type'] {
  const head = String.fromCharCode(...bytes.subarray(0, 12))
  if (head.startsWith('\x89PNG\r\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^RIFF[^]{4}WEBP/.test(head)) return 'image/webp'
  throw wrong(param, 'is no PNG, JPEG or WebP image')
}

/** Encodes Base64 into bytes first: pieces of `btoa` take a hundred times longer. */
function base64(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(padding)
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    const [first = 0, second, third] = [bytes[from], bytes[from + 1], bytes[from + 2]]
    const bits = (first << 16) | ((second ?? 0) << 8) | (third ?? 0)
    text[to] = letters[bits >> 18] ?? 0
    text[to + 1] = letters[(bits >> 12) & 63] ?? 0
    if (second !== undefined) text[to + 2] = letters[(bits >> 6) & 63] ?? 0
    if (third !== undefined) text[to + 3] = letters[bits & 63] ?? 0
  }
  return new TextDecoder().decode(text)
}

function tooLarge(param: string): DarkroomError {
  return wrong(param, 'has more than 20 MiB')
}

function wrong(param: string, problem: string): DarkroomError {
  return new DarkroomError(`${param} ${problem}.`, { code: 'invalid_value', param })
}
