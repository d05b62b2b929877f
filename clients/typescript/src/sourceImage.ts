import type { InputImage } from './apiTypes.ts'
import type { Deadline } from './deadline.ts'
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

/** The limits of the API: checked before anything is sent, and while a stream is read. */
const imagesMax = 16
const imageBytesMax = 20 * 1_048_576
const allBytesMax = 64 * 1_048_576
const letters = new TextEncoder().encode(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
)
const padding = '='.charCodeAt(0)

/**
 * Reads source images into the form of a request, within the deadline of the call. Throws for what the API would refuse,
 * without sending it.
 */
export async function readSourceImages(
  sources: readonly SourceImage[],
  deadline: Deadline,
): Promise<readonly InputImage[]> {
  if (sources.length === 0 || sources.length > imagesMax) {
    throw wrong('images', `takes 1 to ${imagesMax} images`)
  }
  const read: { readonly mime_type: InputImage['mime_type']; readonly bytes: Uint8Array }[] = []
  let allBytes = 0
  for (const [index, source] of sources.entries()) {
    const param = `images[${index}]`
    const bytes = await bytesOf(source, param, deadline.signal).catch((error: unknown) => {
      throw deadline.overBecause() ?? error
    })
    allBytes += bytes.length
    if (allBytes > allBytesMax) throw wrong('images', 'takes 64 MiB together')
    read.push({ mime_type: typeOf(bytes, param), bytes })
  }
  return read.map(({ mime_type, bytes }) => ({ mime_type, data: base64(bytes) }))
}

async function bytesOf(
  source: SourceImage,
  param: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (source instanceof ReadableStream) return streamed(source, param, signal)
  if (typeof source === 'string' || source instanceof URL) {
    const { readFile, stat } = await filesModule()
    const found = await stat(source)
    // A pipe may never end, and a device has no end.
    if (!found.isFile()) throw wrong(param, 'is no file')
    checkSize(found.size, param)
    return readFile(source, { signal })
  }
  checkSize(source instanceof Blob ? source.size : source.byteLength, param)
  if (source instanceof Blob) return streamed(source.stream(), param, signal)
  return source instanceof Uint8Array ? source : new Uint8Array(source)
}

async function streamed(
  stream: ReadableStream<Uint8Array>,
  param: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  const kept = new WritableStream<Uint8Array>({
    write(piece) {
      size += piece.length
      checkSize(size, param)
      pieces.push(new Uint8Array(piece))
    },
  })
  await stream.pipeTo(kept, { signal })
  return new Uint8Array(await new Blob(pieces).arrayBuffer())
}

function checkSize(size: number, param: string): void {
  if (size > imageBytesMax) throw wrong(param, 'has more than 20 MiB')
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

function wrong(param: string, problem: string): DarkroomError {
  return new DarkroomError(`${param} ${problem}.`, { code: 'invalid_value', param })
}
