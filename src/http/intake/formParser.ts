import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy'
import { Busboy } from '@fastify/busboy'
import type { RequestFailure } from '../../domain/failure.ts'
import { inputImageBytesMax, requestTextBytesMax } from '../../domain/limits.ts'
import { editsFields } from '../../schema/imagesRequest.ts'
import {
  invalidImage,
  invalidValue,
  paramPath,
  unknownParameter,
} from '../../schema/requestFailures.ts'
import { jsonTextBytes } from '../../streams/json/documentBuilder.ts'
import { unreadable } from './bodyFailures.ts'
import { partHeadBytesMax } from './formParts.ts'

/**
 * A parser of the edits form, with every limit set; `undefined` when it cannot use the boundary of the
 * content type. The name of a part decides whether it is an image or a text: clients leave out the type and
 * the filename, or guess them (they send streams as `application/octet-stream`).
 */
export function createFormParser(
  contentType: string,
  events: FormEvents,
): BusboyInstance | undefined {
  const parser = openParser(contentType)
  if (parser === undefined) return undefined
  const { onText, onImage, onFailure } = events
  let images = 0
  let textBytes = 0
  parser.on('field', (name, value, _nameCut, valueCut) => {
    textBytes += jsonTextBytes(value)
    const tooLarge = valueCut || textBytes > requestTextBytesMax
    const failure = tooLarge ? textsTooLarge : failureOfText(name, value)
    if (failure === undefined) onText(name, value)
    else onFailure(failure)
  })
  parser.on('file', (name: string | undefined, content) => {
    // An error of the form also reaches `parser.on('error')` below. Unhandled here, it would end the process.
    content.on('error', () => {})
    if (name === undefined || !imageNames.includes(name)) return onFailure(unknownPart(name))
    images += 1
    if (images > 1) return onFailure(oneImageOnly)
    content.once('limit', () => onFailure(imageTooLarge))
    onImage(content)
  })
  parser.once('partsLimit', () => onFailure(unreadable('The form has too many parts.')))
  parser.on('error', () => onFailure(unreadable('The form is malformed or ends too early.')))
  return parser
}

/**
 * What the parser reports while it reads. Events may still follow a failure: the rest of the same chunk is
 * parsed.
 */
type FormEvents = {
  readonly onText: (name: string, value: string) => void
  /** At most once. */
  readonly onImage: (content: BusboyFileStream) => void
  readonly onFailure: (failure: RequestFailure) => void
}

/** Official clients send a single image as `image`, and a list with one image as `image[]`. */
const imageNames: readonly string[] = ['image', 'image[]']

const textNames: readonly string[] = Object.keys(editsFields.shape)

/** A valid form has six parts at most. A few more are read so that the failure can name the field at fault. */
const partsMax = 16

/** Browsers and client libraries send three headers with each part, some hundred bytes together. */
const partHeadersMax = 20

/**
 * The parser throws when a boundary is longer than about 250 characters, and when it finds none where
 * `boundaryOf` found one.
 */
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
        headerSize: partHeadBytesMax,
      },
    })
  } catch {
    return undefined
  }
}

function failureOfText(name: string, value: string): RequestFailure | undefined {
  // PostgreSQL cannot store them.
  if (!value.isWellFormed() || value.includes('\0')) {
    return invalidValue(name, 'text must not contain NUL or lone surrogates')
  }
  // The parser replaces invalid bytes by U+FFFD, which looks the same as a U+FFFD that was sent. Either way
  // the text is damaged, and the client would pay for an image of a damaged prompt.
  if (value.includes('\uFFFD')) {
    return invalidValue(name, 'text must be valid UTF-8 and must not contain U+FFFD')
  }
  return undefined
}

function unknownPart(name: string | undefined): RequestFailure {
  if (name === undefined) return unreadable('The form has a part without a name.')
  return unknownParameter(paramPath([name]))
}

const textsTooLarge: RequestFailure = {
  tag: 'body_too_large',
  limitBytes: requestTextBytesMax,
  texts: true,
}
const imageTooLarge = invalidImage('image', `it is larger than ${inputImageBytesMax} bytes`)
const oneImageOnly = invalidValue(
  'image',
  'only one image is allowed; /v1/images/tasks accepts more',
)
