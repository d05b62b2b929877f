import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AnyAnswer, KnownPicture } from '../support/upstream/anyAnswer.ts'
import { anyAnswer, drawPictures } from '../support/upstream/anyAnswer.ts'
import type { Found } from '../support/upstream/plainDecoder.ts'
import { decodePlainly } from '../support/upstream/plainDecoder.ts'
import { listenAnswering } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

/** ANSWERS=10000 tries more. */
const answers = Number(process.env['ANSWERS'] ?? 1_000)

/** Returns whether this picture, or none, may be delivered of what was found. */
function isRight({ finals, others, lastThought }: Found, width: number | undefined): boolean {
  if (finals.length > 0) return width !== undefined && finals.includes(width)
  if (lastThought !== undefined) return width === lastThought
  return width === undefined || !others.includes(width)
}

/** An answer for people: each picture in base64 is its width. */
function shownOf({ family, body }: AnyAnswer, pictures: readonly KnownPicture[]): string {
  const shown = pictures.reduce((text, { bytes, width }) => {
    const letters = bytes.toString('base64').replaceAll('=', '')
    return text.replaceAll(letters, `<${width}>`)
  }, body.toString())
  return `${family}: ${shown}`
}

it('of any answer the picture that a plain decoder finds is delivered, and no draft, by one request', async () => {
  const pictures = await drawPictures()
  const { call } = await openUpstreamWorld()
  let answer: AnyAnswer | undefined
  const upstream = await listenAnswering((response) => {
    response.writeHead(200, { 'content-type': answer?.contentType }).end(answer?.body)
  })
  const classes = new Set<string>()
  let requests = 0
  await fc.assert(
    fc.asyncProperty(anyAnswer(pictures), async (next) => {
      answer = next
      const outcome = await call(upstream.url, next.family)
      requests += 1
      classes.add(outcome.class)
      const width = outcome.class === 'succeeded' ? outcome.image.width : undefined
      const wrong = isRight(decodePlainly(next, pictures), width)
        ? undefined
        : `${String(width)} of ${shownOf(next, pictures)}`
      expect([wrong, upstream.count()]).toEqual([undefined, requests])
    }),
    { numRuns: answers, seed: 42 },
  )
  // The answers are of all kinds.
  expect([...classes].toSorted()).toEqual([
    'exhausted',
    'refused',
    'rejected',
    'succeeded',
    'unknown',
  ])
}, 3_600_000)
