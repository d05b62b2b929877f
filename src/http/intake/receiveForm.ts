import type { BusboyInstance } from '@fastify/busboy'
import { defined } from '../../domain/defined.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { requestTextBytesMax } from '../../domain/limits.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ReceivedImage } from '../../domain/tasks/imageRequest.ts'
import { IntakeAbandonedError } from '../../streams/intakeFailure.ts'
import { jsonTextBytes } from '../../streams/json/documentBuilder.ts'
import { failureOfBodyError, unreadable } from './bodyFailures.ts'
import type { ApiContext, HttpFailure } from '../context.ts'
import { createFormParser, imageNames, textsTooLarge } from './formParser.ts'
import { createFormBoundaries } from './formBoundaries.ts'
import { boundaryOf, checkFormType, unusableBoundary } from './mediaType.ts'
import type { OpenBody, OpenBodyOptions } from './openBody.ts'
import { openBody } from './openBody.ts'
import type { Staging } from './staging.ts'

type ReceivedForm = {
  readonly fields: Readonly<Record<string, string>>
  readonly image?: ReceivedImage
}

/** Reads the body of an edits form. The image is stored while the body arrives. */
export async function receiveForm(
  context: ApiContext,
  options: OpenBodyOptions,
  staging: Staging,
): Promise<Result<ReceivedForm, HttpFailure>> {
  const contentType = context.req.headers['content-type'] ?? ''
  const wrongType = checkFormType(contentType)
  if (wrongType !== undefined) return fail(wrongType)
  const body = await openBody(context, options)
  if (!body.ok) return body
  try {
    const form = await readForm(body.value, contentType, (image) =>
      staging.take(image, { path: ['image'], index: 0 }),
    )
    return form.ok ? form : fail(await body.value.refusal(form.failure))
  } catch (error) {
    return fail(failureOfBodyError(error))
  } finally {
    body.value.close()
  }
}

/**
 * Parses the form and passes the image to `take`. Throws the errors of the body and of `take`. Before this
 * function ends, with a result or an error, `take` has ended too.
 */
async function readForm(
  { content, coverTexts, pause }: OpenBody,
  contentType: string,
  take: (content: AsyncIterable<Uint8Array>) => Promise<ReceivedImage>,
): Promise<Result<ReceivedForm, RequestFailure>> {
  const fields = new Map<string, string>()
  const stopped = Promise.withResolvers<RequestFailure>()
  // `take` may fail when nothing waits for this promise any more. Without this line, that would be an unhandled
  // rejection, which ends the process.
  stopped.promise.catch(() => {})
  let taking: Promise<ReceivedImage> | undefined
  let abandon: (() => void) | undefined
  const texts = createFormTexts(pause)
  const arrived = { textBytes: 0, inImage: false }
  const parser = createFormParser(contentType, {
    onText: (name, value) => {
      texts.add(value)
      if (fields.has(name)) stopped.resolve(givenTwice(name))
      fields.set(name, value)
    },
    onImage: (image) => {
      abandon = () => image.destroy(new IntakeAbandonedError('The form was refused.'))
      arrived.inImage = true
      image.once('end', () => (arrived.inImage = false))
      taking = take(image)
      taking.catch(stopped.reject)
    },
    onFailure: stopped.resolve,
  })
  const boundary = boundaryOf(contentType)
  if (parser === undefined || boundary === undefined) return fail(unusableBoundary)
  const parts = createFormBoundaries(boundary, (name) => imageNames.includes(name))
  /**
   * Yields the content for the parser. The parser keeps the bytes of a text in memory until the part of that text
   * ends. So all bytes outside of the image count as texts, and need room as texts do.
   */
  async function* seen(): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      parts.see(chunk)
      if (!arrived.inImage) arrived.textBytes += chunk.length
      await coverTexts(Math.max(texts.bytes(), arrived.textBytes))
      yield chunk
      const failure = await texts.count()
      if (failure !== undefined) stopped.resolve(failure)
    }
  }
  try {
    const failure = (await feed(seen(), parser, stopped.promise)) ?? (await texts.count())
    await coverTexts(texts.bytes())
    const refused = parts.failure() ?? failure
    if (refused !== undefined) return fail(refused)
    const partsRead = fields.size + (taking === undefined ? 0 : 1)
    if (parts.delimiters() !== partsRead + 1) return fail(partNotRead)
    const image = await taking
    return succeed({ fields: Object.fromEntries(fields), ...defined({ image }) })
  } finally {
    abandon?.()
    await taking?.catch(() => {})
    parser.destroy()
  }
}

/**
 * Writes the content into the parser, no faster than the image is stored. Returns the first failure at once. The rest
 * of the content then stays unread.
 */
async function feed(
  content: AsyncIterable<Uint8Array>,
  parser: BusboyInstance,
  stopped: Promise<RequestFailure>,
): Promise<RequestFailure | undefined> {
  for await (const chunk of content) {
    const written = new Promise<undefined>((resolve) => {
      parser.write(chunk, () => resolve(undefined))
    })
    const failure = await Promise.race([stopped, written])
    if (failure !== undefined) return failure
  }
  const finished = new Promise<undefined>((resolve) => {
    parser.once('finish', () => resolve(undefined))
  })
  parser.end()
  return Promise.race([stopped, finished])
}

/**
 * Counts the bytes of a form's texts. The parser only adds its texts here. They are counted afterwards, in slices
 * with pauses between them, because counting a text of megabytes at once would block the event loop.
 */
function createFormTexts(pause: () => Promise<void>) {
  const uncounted: string[] = []
  let bytes = 0

  /**
   * Counts the texts that were added since the last call. Returns the failure when all texts together are too large.
   */
  async function count(): Promise<RequestFailure | undefined> {
    for (let text = uncounted.shift(); text !== undefined; text = uncounted.shift()) {
      for (let at = 0; at < text.length; at += sliceLength) {
        if (at > 0) await pause()
        bytes += jsonTextBytes(text.slice(at, at + sliceLength))
        if (bytes > requestTextBytesMax) return textsTooLarge
      }
    }
    return undefined
  }

  return { add: (text: string) => void uncounted.push(text), count, bytes: () => bytes }
}

const sliceLength = 64 * 1024

function givenTwice(name: string): RequestFailure {
  return invalidRequest('invalid_value', name, `'${name}' is given more than once.`)
}

const partNotRead = unreadable(
  'Each part of the form must be form-data with a name, after a line with only the boundary.',
)
