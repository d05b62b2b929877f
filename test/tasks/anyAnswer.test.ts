import * as fc from 'fast-check'
import sharp from 'sharp'
import { expect, it } from 'vitest'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { anyAnswer, drawPictures } from '../support/upstream/anyAnswer.ts'
import { decodePlainly } from '../support/upstream/plainDecoder.ts'
import { playTask } from '../support/upstream/vendorWorld.ts'

const world = useAttemptWorld()

/** ANSWERS=10000 tries more. */
const answers = Number(process.env['ANSWERS'] ?? 150)

/** The ends that a task may have whose calls all get one answer: calls, charge and image. A refusal leads to a wait. */
const ends = {
  succeeded: ['1 settle image'],
  failed: ['1 release none', '3 release none'],
  waits: ['2 undefined none'],
}

it('a task ends within the calls of its rule whatever its upstream answers, and is charged for a stored image alone', async () => {
  const pictures = await drawPictures()
  await fc.assert(
    fc.asyncProperty(anyAnswer(pictures), async (next) => {
      const { family, body, contentType } = next
      const answer = { status: 200, body, headers: { 'content-type': contentType } }
      const played = await playTask(world, { family, one: [answer], pausesAlone: true })
      const { finals, lastThought } = decodePlainly(next, pictures)
      const hasPicture = finals.length > 0 || lastThought !== undefined
      const { end, calls, charge, image } = played
      const kind = end === 'succeeded' ? end : end === 'wait' ? 'waits' : 'failed'
      const width = image && (await sharp(image).metadata()).width
      const has = width === undefined ? 'none' : 'image'
      expect(ends[kind]).toContain(`${calls.length} ${charge} ${has}`)
      expect(hasPicture && kind !== 'succeeded').toBe(false)
    }),
    { numRuns: answers, seed: 43 },
  )
}, 3_600_000)
