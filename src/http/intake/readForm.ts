import type { BusboyInstance } from '@fastify/busboy'
import { defined } from '../../domain/defined.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import type { ReceivedImage } from '../../domain/imageRequest.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import { IntakeAbandonedError } from '../../streams/bodyError.ts'
import { unreadable } from './bodyFailure.ts'
import { createFormParser } from './formParser.ts'
import { boundaryOf, unusableBoundary } from './mediaType.ts'

export type EditsForm = {
  readonly fields: Readonly<Record<string, string>>
  readonly image?: ReceivedImage
}

/**
 * Reads an edits form, its image straight to `take`. Expected failures are values; errors of `content`
 * and of `take` are thrown on. However it ends, `take` has ended before.
 */
export async function readForm(
  content: AsyncIterable<Uint8Array>,
  contentType: string,
  take: (content: AsyncIterable<Uint8Array>) => Promise<ReceivedImage>,
): Promise<Result<EditsForm, RequestFailure>> {
  const fields = new Map<string, string>()
  const stopped = Promise.withResolvers<RequestFailure>()
  // Seen by whoever waits for it, which at the end may be nobody.
  stopped.promise.catch(() => {})
  let taking: Promise<ReceivedImage> | undefined
  let abandon: (() => void) | undefined
  const parser = createFormParser(contentType, {
    text: (name, value) => {
      if (fields.has(name)) stopped.resolve(givenTwice(name))
      fields.set(name, value)
    },
    image: (image) => {
      abandon = () => image.destroy(new IntakeAbandonedError('The form was refused.'))
      taking = take(image)
      taking.catch(stopped.reject)
    },
    refuse: stopped.resolve,
  })
  const boundary = boundaryOf(contentType)
  if (parser === undefined || boundary === undefined) return fail(unusableBoundary)
  const delimiters = createDelimiterCounter(boundary)
  try {
    const failure = await feed(seenBy(delimiters, content), parser, stopped.promise)
    if (failure !== undefined) return fail(failure)
    const toldOf = fields.size + (taking === undefined ? 0 : 1)
    if (delimiters.count() !== toldOf + 1) return fail(unreadable(strayPart))
    const image = await taking
    return succeed({
      fields: Object.fromEntries(fields),
      ...defined({ image }),
    })
  } finally {
    abandon?.()
    await taking?.catch(() => {})
    parser.destroy()
  }
}

const strayPart =
  'Each part of the form must be form-data with a name, behind a line of the boundary alone.'

async function* seenBy(
  delimiters: DelimiterCounter,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    delimiters.see(chunk)
    yield chunk
  }
}

/**
 * Writes the content into the parser, which holds it back while the image's reader is slow. Ends early
 * with the reason to stop; what is left of the content is left to the caller.
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

function givenTwice(name: string): RequestFailure {
  return invalidRequest('invalid_value', name, `'${name}' is given more than once.`)
}

type DelimiterCounter = {
  readonly see: (chunk: Uint8Array) => void
  /** Lines that begin with the boundary: one before each part, one at the end. */
  readonly count: () => number
}

/**
 * Counts what may begin a part of a form. The form's parser passes over parts that are no form fields
 * without a word, and over fields behind a boundary line that it cannot read; each would be a parameter
 * dropped in silence, and a wrong bill (design section 4). Whoever knows how many parts were told of
 * sees by this count that one is missing.
 */
function createDelimiterCounter(boundary: string): DelimiterCounter {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  let count = 0
  // The first delimiter may stand at the very beginning, without the line end that is part of the others.
  let tail: Uint8Array = Buffer.from('\r\n')
  return {
    see: (chunk) => {
      const text = Buffer.concat([tail, chunk])
      let from = 0
      for (let at = text.indexOf(delimiter); at !== -1; at = text.indexOf(delimiter, from)) {
        count += 1
        from = at + delimiter.length
      }
      tail = text.subarray(Math.max(from, text.length - delimiter.length + 1))
    },
    count: () => count,
  }
}
