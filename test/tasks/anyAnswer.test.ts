import * as fc from 'fast-check'
import sharp from 'sharp'
import { expect, it } from 'vitest'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import { answerImageKey } from '../../src/domain/upstream/answerMeta.ts'
import { createUpstreamCaller } from '../../src/upstream/callUpstream.ts'
import { createUpstreamConnections } from '../../src/upstream/upstreamConnections.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { collect } from '../support/byteStreams.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { moneyOf } from '../support/database/money.ts'
import { createTestAttempts, testChannel } from '../support/database/testAttempts.ts'
import { createTestProduceImage } from '../support/database/testProduceImage.ts'
import { tempFolder } from '../support/tempFolder.ts'
import type { AnyAnswer } from '../support/upstream/anyAnswer.ts'
import { anyAnswer, drawPictures } from '../support/upstream/anyAnswer.ts'
import { decodePlainly } from '../support/upstream/plainDecoder.ts'
import { listenAnswering } from '../support/upstream/testServers.ts'

const world = useAttemptWorld()

/** ANSWERS=10000 tries more. */
const answers = Number(process.env['ANSWERS'] ?? 150)
const models = { A: 'familya-3-pro-image', B: 'familyb-image-2-vip' } as const

/** The ends that a task may have. Who refuses is asked again, the first time after a second. */
const ends: readonly string[] = [
  'succeeded after 1, hold settle, image',
  'failed after 1, hold release, none',
  'failed after 3, hold release, none',
  'wait after 2, hold, none',
]

/** Carries out tasks against one upstream. Waits after a call are not waited for: its time moves back instead. */
async function openTasks() {
  const { pool } = world
  let answer: AnyAnswer | undefined
  const upstream = await listenAnswering((response) => {
    response.writeHead(200, { 'content-type': answer?.contentType }).end(answer?.body)
  })
  const channels = (['A', 'B'] as const).map((family) =>
    testChannel({ name: `any-${family}`, family, baseUrl: upstream.url, timeoutMs: 60_000 }),
  )
  const blobs = createMemoryBlobs()
  const dispatcher = createUpstreamConnections()
  const given = { blobs, models: createModelTable(), safetySecret: 'secret' }
  const callUpstream = createUpstreamCaller({ ...given, tempDir: tempFolder(), dispatcher })
  const attempts = await createTestAttempts(pool, channels)
  const produce = createTestProduceImage({ attempts, blobs, channels, callUpstream })

  /** Returns the end of a task whose calls all get this answer, its calls, its money, and the width of its image. */
  async function run(next: AnyAnswer) {
    answer = next
    const before = upstream.count()
    const { taskId } = await insertTask(pool)
    const model = models[next.family]
    await pool.query(
      `update task set family = $2, model = $3,
         request = (request::jsonb || jsonb_build_object('family', $2::text, 'model', $3::text))::text
       where task_id = $1`,
      [taskId, next.family, model],
    )
    let result = await produce({ taskId })
    while (result.kind === 'wait' && result.reason === 'backoff') {
      await pool.query(
        `update attempt set opened_at = opened_at - interval '1 minute',
           closed_at = closed_at - interval '1 minute' where task_id = $1`,
        [taskId],
      )
      result = await produce({ taskId })
    }
    await pool.query('delete from cooldown')
    const { rows } = await pool.query<{ answer: string | null }>(
      'select answer_id as answer from task where task_id = $1',
      [taskId],
    )
    const stored = rows[0]?.answer ?? undefined
    const image = stored === undefined ? undefined : await blobs.read(answerImageKey(stored))
    return {
      kind: result.kind,
      calls: upstream.count() - before,
      money: (await moneyOf(pool, taskId)).join(' '),
      width: image && (await sharp(await collect(image.content)).metadata()).width,
    }
  }

  return { run, close: () => dispatcher.destroy() }
}

it('a task ends within the calls of its rule whatever its upstream answers, and is charged for a stored image alone', async () => {
  const pictures = await drawPictures()
  const tasks = await openTasks()
  await fc.assert(
    fc.asyncProperty(anyAnswer(pictures), async (next) => {
      const { kind, calls, money, width } = await tasks.run(next)
      const { finals, lastThought } = decodePlainly(next, pictures)
      const hasPicture = finals.length > 0 || lastThought !== undefined
      const isLost = hasPicture && kind !== 'succeeded'
      const hasImage = width !== undefined
      expect(ends).toContain(`${kind} after ${calls}, ${money}, ${hasImage ? 'image' : 'none'}`)
      expect(isLost).toBe(false)
    }),
    { numRuns: answers, seed: 43 },
  )
  await tasks.close()
}, 3_600_000)
