import { isUtf8 } from 'node:buffer'
import { defined } from '../../domain/defined.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import {
  inputImageBytesMax,
  requestBesidesImagesBytesMax,
  requestTextBytesMax,
} from '../../domain/limits.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ReceivedImage } from '../../domain/tasks/imageRequest.ts'
import { editsFields } from '../../schema/imagesRequest.ts'
import {
  invalidImage,
  invalidValue,
  paramPath,
  unknownParameter,
} from '../../domain/requestFailures.ts'
import type { ApiContext } from '../requestState.ts'
import type { BodyOptions } from './body.ts'
import { readBody, unreadable } from './body.ts'
import type { PartHead } from './formParts.ts'
import { readParts } from './formParts.ts'
import { formBoundary } from './mediaType.ts'
import { receivedImage } from './receiveJson.ts'

type ReceivedForm = {
  readonly fields: Readonly<Record<string, string>>
  readonly image?: ReceivedImage
}

/**
 * Names of the image part. Official clients send a single image as `image`, and a list of one image as `image[]`. Only
 * the name decides whether a part is an image or a text: clients leave type and file name out, or guess them.
 */
const imageNames: readonly string[] = ['image', 'image[]']

const textNames: readonly string[] = Object.keys(editsFields.shape)

/** Reads the body of an edits form: texts, each at most once, and at most one image. */
export async function receiveForm(
  context: ApiContext,
  options: BodyOptions,
): Promise<Result<ReceivedForm, RequestFailure>> {
  const boundary = formBoundary(context.req.headers['content-type'])
  if (!boundary.ok) return boundary
  const body = await readBody(context, options)
  if (!body.ok) return body
  const fields = new Map<string, string>()
  let image: ReceivedImage | undefined
  let textBytes = 0
  for await (const part of readParts(body.value, boundary.value)) {
    if (part === 'malformed') return fail(malformed)
    const { head, content } = part
    const { name = '' } = head
    const isImage = head.isClear && imageNames.includes(name)
    if (!isReadAsSent(head, isImage)) return fail(invalidValue(paramPath([name]), notPlain))
    if (!head.isClear) return fail(unclearPart)
    if (isImage) {
      if (image !== undefined) return fail(oneImageOnly)
      if (content.length > inputImageBytesMax) return fail(imageTooLarge)
      const received = receivedImage(['image'], content)
      if (!received.ok) return received
      image = received.value
      continue
    }
    if (!textNames.includes(name)) return fail(unknownParameter(paramPath([name])))
    // Before the searches below, which take as long as the text is.
    textBytes += content.length
    if (textBytes > requestTextBytesMax) return fail(tooLarge(requestTextBytesMax))
    // A line that ends with a line feed alone begins no part, so the part behind it would be taken for text.
    if (content.includes(`\n--${boundary.value}`, 0, 'latin1')) return fail(malformed)
    if (fields.has(name)) return fail(invalidValue(name, 'it is given more than once'))
    // PostgreSQL cannot store NUL.
    if (content.includes(0)) return fail(invalidValue(name, 'text must not contain NUL'))
    if (!isUtf8(content)) return fail(invalidValue(name, 'text must be valid UTF-8'))
    fields.set(name, content.toString('utf8'))
  }
  const besidesBytes = body.value.length - (image?.content.length ?? 0)
  if (besidesBytes > requestBesidesImagesBytesMax)
    return fail(tooLarge(requestBesidesImagesBytesMax))
  return succeed({ fields: Object.fromEntries(fields), ...defined({ image }) })
}

/**
 * Returns whether the bytes of a part are what the client meant. RFC 7578 section 4.7 forbids transfer encodings, but
 * some clients name one that changes nothing. An image may name any charset, because bytes have none.
 */
function isReadAsSent({ charsets, transferEncodings }: PartHead, isImage: boolean): boolean {
  return (
    transferEncodings.every((encoding) => /^(?:7bit|8bit|binary)$/i.test(encoding)) &&
    (isImage || charsets.every((charset) => /^utf-?8$/i.test(charset)))
  )
}

const notPlain = 'the part must have no Content-Transfer-Encoding, and a text must be UTF-8'
const malformed = unreadable(
  'The form is malformed or ends too early. Each part must begin with a line that has only the boundary.',
)
const unclearPart = unreadable('Each part of the form must be form-data with one name.')
const tooLarge = (limitBytes: number): RequestFailure => ({
  tag: 'body_too_large',
  limitBytes,
  texts: true,
})
const imageTooLarge = invalidImage('image', `it is larger than ${inputImageBytesMax} bytes`)
const oneImageOnly = invalidValue(
  'image',
  'only one image is allowed; /v1/images/tasks accepts more',
)
