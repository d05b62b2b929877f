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
import { unreadable } from './bodyFailures.ts'
import { partHeadBytesMax } from './formBoundaries.ts'

/**
 * Creates a parser of the edits form, with every limit set. Returns `undefined` when the parser cannot use
 * the boundary of the content type. Only the name of a part decides whether the part is an image or a text.
 * Type and filename are not reliable: clients leave them out, or guess (they send streams as
 * `application/octet-stream`).
 */
export function createFormParser(
  contentType: string,
  events: FormEvents,
): BusboyInstance | undefined {
  const parser = openParser(contentType)
  if (parser === undefined) return undefined
  const { onText, onImage, onFailure } = events
  let images = 0
  parser.on('field', (name, value, _nameCut, valueCut) => {
    const failure = valueCut ? textsTooLarge : failureOfText(name, value)
    if (failure === undefined) onText(name, value)
    else onFailure(failure)
  })
  parser.on('file', (name: string | undefined, content) => {
    // An error of the form reaches this stream and also `parser.on('error')` below. Without a listener here,
    // the error would end the process.
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
 * What the parser reports while it reads. More events may follow after a failure, because the parser reads
 * its current chunk to the end.
 */
type FormEvents = {
  readonly onText: (name: string, value: string) => void
  /** Called at most once. */
  readonly onImage: (content: BusboyFileStream) => void
  readonly onFailure: (failure: RequestFailure) => void
}

/**
 * Names of the image part. Official clients send a single image as `image`, and a list of one image as
 * `image[]`.
 */
export const imageNames: readonly string[] = ['image', 'image[]']

const textNames: readonly string[] = Object.keys(editsFields.shape)

/**
 * Limit for the parts of a form. A valid form has six parts at most. The parser reads some more, so that the
 * error can name the first field that is wrong.
 */
const partsMax = 16

/**
 * Limit for the number of headers of one part. Browsers and client libraries send about three. `partHeadBytesMax`
 * limits the bytes of these headers.
 */
const partHeadersMax = 20

/**
 * Opens the parser, or returns `undefined` when the parser throws. It throws when a boundary is longer than
 * about 250 characters. It also throws when it finds no boundary where `boundaryOf` found one.
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
  // PostgreSQL cannot store texts with NUL or lone surrogates.
  if (!value.isWellFormed() || value.includes('\0')) {
    return invalidValue(name, 'text must not contain NUL or lone surrogates')
  }
  // The parser replaces invalid bytes with U+FFFD, and we cannot tell this from a U+FFFD that the client
  // sent. In both cases the text is damaged, and the client would pay for an image of a damaged prompt.
  if (value.includes('\uFFFD')) {
    return invalidValue(name, 'text must be valid UTF-8 and must not contain U+FFFD')
  }
  return undefined
}

function unknownPart(name: string | undefined): RequestFailure {
  if (name === undefined) return unreadable('The form has a part without a name.')
  return unknownParameter(paramPath([name]))
}

/** Failure for a form whose texts together exceed their limit. */
export const textsTooLarge: RequestFailure = {
  tag: 'body_too_large',
  limitBytes: requestTextBytesMax,
  texts: true,
}
const imageTooLarge = invalidImage('image', `it is larger than ${inputImageBytesMax} bytes`)
const oneImageOnly = invalidValue(
  'image',
  'only one image is allowed; /v1/images/tasks accepts more',
)
