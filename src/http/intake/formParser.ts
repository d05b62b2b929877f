import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy'
import { Busboy } from '@fastify/busboy'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { inputImageBytesMax, requestTextBytesMax } from '../../domain/limits.ts'
import { editsFields } from '../../schema/imagesRequest.ts'
import { paramPath } from '../../schema/requestFailures.ts'
import { unreadable } from './bodyFailure.ts'

/** What the parts of one form come to, told as they arrive; after `refuse` nothing more is told. */
type FormEvents = {
  readonly text: (name: string, value: string) => void
  /** Once at most. */
  readonly image: (content: BusboyFileStream) => void
  readonly refuse: (failure: RequestFailure) => void
}

/** Official clients write one image as `image` and a list of one as `image[]` (research/wire.md section 3). */
const imageNames: readonly string[] = ['image', 'image[]']

const textNames: readonly string[] = Object.keys(editsFields.shape)

/** One image and five texts are legal; a few more are read so that the refusal can name what is wrong. */
const partsMax = 16

/** Browsers and clients write three headers of some hundred bytes. */
const partHeadersMax = 20
const partHeaderBytesMax = 16 * 1024

/**
 * A parser of the edits form with every limit set. What a part is follows from its name, not from its
 * type or filename, which clients leave out or guess: streams come as `application/octet-stream`.
 * `undefined` when the content type names no boundary it can look for.
 */
export function createFormParser(
  contentType: string,
  events: FormEvents,
): BusboyInstance | undefined {
  const parser = openParser(contentType)
  if (parser === undefined) return undefined
  const { text, image, refuse } = events
  let images = 0
  parser.on('field', (name, value, _nameCut, valueCut) => {
    const failure = refusalOfText(name, value, valueCut)
    if (failure === undefined) text(name, value)
    else refuse(failure)
  })
  parser.on('file', (name: string | undefined, content) => {
    // Errors of the form itself are told by the parser's own event.
    content.on('error', () => {})
    if (name === undefined || !imageNames.includes(name)) return refuse(unknownPart(name))
    images += 1
    if (images > 1) return refuse(oneImageOnly)
    content.once('limit', () => refuse(imageTooLarge))
    image(content)
  })
  parser.once('partsLimit', () => refuse(unreadable('The form has too many parts.')))
  parser.on('error', () => refuse(unreadable('The form is malformed or ends too early.')))
  return parser
}

/** The parser throws at a boundary beyond some 250 characters, and at one that only we can see. */
function openParser(contentType: string): BusboyInstance | undefined {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: (name) => !textNames.includes(name ?? ''),
      limits: {
        parts: partsMax,
        fields: partsMax,
        files: partsMax,
        fieldSize: requestTextBytesMax,
        fileSize: inputImageBytesMax,
        headerPairs: partHeadersMax,
        headerSize: partHeaderBytesMax,
      },
    })
  } catch {
    return undefined
  }
}

function refusalOfText(name: string, value: string, cut: boolean): RequestFailure | undefined {
  if (cut) return { tag: 'body_too_large', limitBytes: requestTextBytesMax, texts: true }
  // A part may name its own charset, and UTF-16 can say what no database text holds.
  if (!value.isWellFormed() || value.includes('\0')) {
    return invalidText(name, 'text must not hold NUL or lone surrogates')
  }
  // The parser puts U+FFFD where bytes are no text, and nothing tells it from one that was sent: either
  // way the text is damaged, and its image would be paid for.
  if (value.includes('\uFFFD')) {
    return invalidText(name, 'text must be valid UTF-8 and not hold U+FFFD')
  }
  return undefined
}

function invalidText(name: string, why: string): RequestFailure {
  return invalidRequest('invalid_value', name, `Invalid value for '${name}': ${why}.`)
}

function unknownPart(name: string | undefined): RequestFailure {
  if (name === undefined) return unreadable('The form has a part without a name.')
  const param = paramPath([name])
  return invalidRequest('unknown_parameter', param, `Unknown parameter: '${param}'.`)
}

const imageTooLarge = invalidRequest(
  'invalid_image',
  'image',
  `Invalid image in 'image': it is larger than ${inputImageBytesMax} bytes.`,
)

const oneImageOnly = invalidRequest(
  'invalid_value',
  'image',
  "Invalid value for 'image': exactly one image. More go to /v1/images/tasks.",
)
