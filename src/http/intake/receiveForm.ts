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
} from '../../schema/requestFailures.ts'
import type { ApiContext } from '../context.ts'
import type { BodyOptions } from './body.ts'
import { readBody, unreadable } from './body.ts'
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
  const { parts, isMalformed } = await readParts(body.value, boundary.value)
  const fields = new Map<string, string>()
  let image: ReceivedImage | undefined
  let textBytes = 0
  for (const { name, chunks, transferEncoding, charset = 'utf-8' } of parts) {
    if (name === undefined) return fail(malformed)
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
    // RFC 7578 section 4.7 forbids transfer encodings, but some clients name one that changes nothing.
    if (!/^(?:7bit|8bit|binary)$/.test(transferEncoding)) {
      return fail(
        invalidValue(paramPath([name]), 'the part must have no Content-Transfer-Encoding'),
      )
    }
    if (imageNames.includes(name)) {
      if (image !== undefined) return fail(oneImageOnly)
      if (bytes > inputImageBytesMax) return fail(imageTooLarge)
      image = receivedImage(['image'], Buffer.concat(chunks))
      continue
    }
    if (!textNames.includes(name)) return fail(unknownParameter(paramPath([name])))
    if (fields.has(name)) return fail(invalidValue(name, 'it is given more than once'))
    textBytes += bytes
    if (textBytes > requestTextBytesMax) return fail(tooLarge(requestTextBytesMax))
    const content = Buffer.concat(chunks)
    // PostgreSQL cannot store NUL.
    if (content.includes(0)) return fail(invalidValue(name, 'text must not contain NUL'))
    if (!isUtf8(content) || !/^utf-?8$/i.test(charset)) {
      return fail(invalidValue(name, 'text must be valid UTF-8'))
    }
    fields.set(name, content.toString('utf8'))
  }
  if (isMalformed) return fail(malformed)
  const besidesBytes = body.value.length - (image?.content.length ?? 0)
  if (besidesBytes > requestBesidesImagesBytesMax)
    return fail(tooLarge(requestBesidesImagesBytesMax))
  return succeed({ fields: Object.fromEntries(fields), ...defined({ image }) })
}

const malformed = unreadable(
  'The form is malformed or ends too early. Each part must be form-data with a name, after a line with only the boundary.',
)
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
