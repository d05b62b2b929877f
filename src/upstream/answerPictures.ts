import { defined } from '../domain/defined.ts'
import type { Json, JsonPath } from '../domain/json.ts'
import { itemsOf, objectOf, textOf } from '../domain/json.ts'
import { outputImageBytesMax } from '../domain/limits.ts'
import type { AnswerShape, KeptImage, OutcomeEvidence } from '../domain/upstream/upstreamCall.ts'
import { decodeLenientBase64 } from '../bytes/base64.ts'
import { wholeImage } from '../bytes/images.ts'
import type { ImageString } from '../bytes/parseJson.ts'

export type AnswerImage = Omit<KeptImage, 'discard'>

/** A picture that stands in an answer. It may be broken. */
export type Picture = {
  /** Where it stands in the document. Empty when it is the whole body. */
  readonly path: JsonPath
  /** `thought`: marked as a thought of the model. `other`: an earlier state of the image, or a copy of what was sent. */
  readonly kind: 'final' | 'thought' | 'other'
  /** Absent in the shape that the vendor documents, or when only the place differs from it. */
  readonly shape?: AnswerShape
  /** Decodes the picture. Returns `undefined` when it is not whole. */
  readonly read: () => Promise<AnswerImage | undefined>
}

/** How a PNG, a JPEG or a WebP begins in base64, maybe with the escapes of JSON, and as a data URL. */
const pictureStart =
  /^(?:\s|\\[nrt])*(data:[^,]{0,100},)?(?:iVBORw0KGgo|(?:\\?\/|_|\\u002[fF])9j|UklGR)/

/** Returns whether a text of an answer is a picture, whatever its name. `begin` are its first bytes. */
export function isPicture(_path: JsonPath, begin: Buffer): boolean {
  return pictureStart.test(begin.toString('latin1'))
}

/** Describes a picture of a document. `event` is the name of the event that the document came in. */
export function pictureOf(
  { path, sent }: ImageString,
  document: Json,
  event: string | undefined,
): Picture {
  const isDataUrl = pictureStart.exec(sent.toString('latin1', 0, 200))?.[1] !== undefined
  const shape = event !== undefined ? 'event_stream' : isDataUrl ? 'data_url' : undefined
  return {
    path,
    kind: kindOf(path, document, event),
    ...(shape && { shape }),
    read: async () => {
      const bytes = await decodeLenientBase64(sent, outputImageBytesMax)
      return bytes && imageOf(bytes)
    },
  }
}

/** Returns the image that these bytes are, if they are a whole one. Its type and size come from them. */
export function imageOf(bytes: Buffer): AnswerImage | undefined {
  const image = wholeImage(bytes)
  return image && { ...image, bytes }
}

/** Names and types of what is not the image, such as `image_generation.partial_image` and `input_image`. */
const notTheImage = /partial|preview|thumb|draft|input|request|mask|reference|in_progress/i
/** Of the events that have a name, only those with this one carry the image. */
const completed = /(?:^|\.)completed$/

function kindOf(path: JsonPath, document: Json, event: string | undefined): Picture['kind'] {
  const names = path.map(String)
  let value: Json | undefined = document
  for (const step of path) {
    const object = objectOf(value)
    if (object?.['thought'] === true) return 'thought'
    names.push(textOf(object?.['type']) ?? '')
    if (object !== undefined && 'partial_image_index' in object) return 'other'
    value = object === undefined ? itemsOf(value)[Number(step)] : object[step]
  }
  const type = event === undefined ? '' : (textOf(objectOf(document)?.['type']) ?? event)
  const isOfEvent = type === '' || type === 'message' || completed.test(type)
  return isOfEvent && !names.some((name) => notTheImage.test(name)) ? 'final' : 'other'
}

/** A picture that was chosen, and what was met that the vendor does not document. */
export type ChosenPicture = {
  readonly image: AnswerImage
  readonly path: JsonPath
  readonly met: Pick<OutcomeEvidence, 'shape' | 'imageCount'>
}

/**
 * Returns the last whole one of these pictures. Those in the place that the vendor documents come first, and then those
 * beside it.
 */
export async function lastWhole(
  pictures: readonly Picture[],
  isInPlace: (path: JsonPath) => boolean,
): Promise<ChosenPicture | undefined> {
  const nearness = ({ path }: Picture) =>
    isInPlace(path) ? 2 : path[0] === 'data' || path[0] === 'candidates' ? 1 : 0
  const inPlace = pictures.filter(({ path }) => isInPlace(path)).length
  const count = inPlace || pictures.length
  const nearestLast = pictures.toSorted((one, other) => nearness(one) - nearness(other))
  for (const { path, shape, read } of nearestLast.toReversed()) {
    const image = await read()
    if (image === undefined) continue
    const met = {
      shape: shape ?? (isInPlace(path) ? undefined : 'other_place'),
      imageCount: count > 1 ? count : undefined,
    } as const
    return { image, path, met: defined(met) }
  }
  return undefined
}
