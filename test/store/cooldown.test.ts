import { describe, expect, it } from 'vitest'
import type { AttemptStore } from '../../src/store/attempts/attemptStore.ts'
import type { Channel } from '../../src/domain/upstream/channel.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import {
  askToOpen,
  createTestAttempts,
  openAttempt,
  testChannel,
  testMeta,
} from '../support/database/testAttempts.ts'
import { whileUncommitted } from '../support/database/whileUncommitted.ts'

const world = useAttemptWorld()
const model = 'familyb-image-2-vip'
const refused = { class: 'refused', evidence: { reason: 'rate_limited', httpStatus: 429 } } as const
const credential = {
  class: 'operator_fault',
  evidence: { reason: 'credential', httpStatus: 401 },
} as const
const unknownModel = {
  class: 'operator_fault',
  evidence: { reason: 'model_not_found', httpStatus: 404 },
} as const

type World = { readonly attempts: AttemptStore; readonly channel: Channel }

async function ownChannel(name: string, concurrencyMax = 50): Promise<World> {
  const channel = testChannel({ name, concurrencyMax })
  return { channel, attempts: await createTestAttempts(world.pool, [channel]) }
}

async function call({ attempts, channel }: World) {
  const { taskId } = await insertTask(world.pool)
  const { n, answerId } = await openAttempt(attempts, taskId, { channel })
  return { taskId, n, answerId }
}

/** Asks for the call of a new task. Returns the kind of the answer. */
async function ask({ attempts, channel }: World): Promise<string> {
  const { taskId } = await insertTask(world.pool)
  return (await askToOpen(attempts, taskId, { channel })).kind
}

async function cooldownOf({ channel }: World) {
  const { rows } = await world.pool.query<{
    model: string
    seconds: number
    max: number
    fault: boolean
  }>(
    `select model, round(extract(epoch from until_at - now()))::int as seconds, max, fault
     from cooldown where channel = $1 order by model`,
    [channel.name],
  )
  return rows
}

/** Ends the time in which no call begins, and makes the calls under way older than 200 ms. */
async function passUntil({ channel }: World): Promise<void> {
  await world.pool.query(
    `update cooldown set until_at = now() - interval '300 milliseconds' where channel = $1`,
    [channel.name],
  )
  await world.pool.query(
    `update attempt set opened_at = least(opened_at, now() - interval '250 milliseconds') where channel = $1`,
    [channel.name],
  )
}

describe('after a refusal', () => {
  it('no call of the model begins for the time that the upstream named; another model may call', async () => {
    const own = await ownChannel('named')
    const { taskId, n } = await call(own)
    await own.attempts.closeAttempt({
      taskId,
      n,
      ...refused,
      retryAfterMs: 7_000,
      concurrencyMax: 50,
    })
    expect(await cooldownOf(own)).toEqual([{ model, seconds: 7, max: 25, fault: false }])
    expect(await ask(own)).toBe('cooldown')
    const other = await insertTask(world.pool)
    await world.pool.query(`update task set model = 'familyb-image-2-web' where task_id = $1`, [
      other.taskId,
    ])
    const opened = await askToOpen(own.attempts, other.taskId, { channel: own.channel })
    expect(opened.kind).toBe('opened')
  })

  it('one call begins in 200 ms', async () => {
    const own = await ownChannel('paced')
    const { taskId, n } = await call(own)
    await own.attempts.closeAttempt({ taskId, n, ...refused, concurrencyMax: 50 })
    await passUntil(own)
    const askedAtMs = performance.now()
    const asked = await Promise.all(Array.from({ length: 6 }, () => ask(own)))
    // On a busy machine the questions may take longer than that.
    const opened = asked.filter((answer) => answer === 'opened').length
    expect(opened).toBeGreaterThan(0)
    expect(opened).toBeLessThanOrEqual(1 + (performance.now() - askedAtMs) / 200)
    expect(asked.filter((answer) => answer === 'full')).toHaveLength(6 - opened)
    await passUntil(own)
    expect(await ask(own)).toBe('opened')
  })

  it('a call that has ended counts among those of 200 ms', async () => {
    const own = await ownChannel('quick')
    const { taskId, n } = await call(own)
    await own.attempts.closeAttempt({ taskId, n, ...refused, concurrencyMax: 50 })
    await passUntil(own)
    const quick = await call(own)
    const rejected = { class: 'rejected', evidence: { reason: 'content_policy' } } as const
    await own.attempts.closeAttempt({ taskId: quick.taskId, n: quick.n, ...rejected })
    await world.pool.query(
      `update attempt set opened_at = clock_timestamp(), closed_at = clock_timestamp() where task_id = $1`,
      [quick.taskId],
    )
    expect(await ask(own)).toBe('full')
    await passUntil(own)
    expect(await ask(own)).toBe('opened')
  })

  it('six refusals in a row leave a limit of one, and each image adds one, up to the places of the channel', async () => {
    const own = await ownChannel('halved', 8)
    const limits: number[] = []
    for (let time = 0; time < 6; time += 1) {
      const { taskId, n } = await call(own)
      await own.attempts.closeAttempt({ taskId, n, ...refused, concurrencyMax: 8 })
      limits.push((await cooldownOf(own))[0]?.max ?? 0)
      await passUntil(own)
    }
    expect(limits).toEqual([4, 2, 1, 1, 1, 1])
    for (let time = 0; time < 7; time += 1) {
      const { taskId, answerId } = await call(own)
      await own.attempts.settleTask({ meta: testMeta(taskId), answerId })
      await passUntil(own)
    }
    expect((await cooldownOf(own))[0]?.max).toBe(8)
    await call(own)
    expect(await ask(own)).toBe('opened')
  })

  it('a refusal of a call that began before neither halves the limit nor makes the next cooldown longer', async () => {
    const own = await ownChannel('wave', 50)
    const wave = await Promise.all(Array.from({ length: 5 }, () => call(own)))
    for (const [at, { taskId, n }] of wave.entries()) {
      const named = at === 3 ? { retryAfterMs: 20_000 } : {}
      await own.attempts.closeAttempt({ taskId, n, ...refused, ...named, concurrencyMax: 50 })
    }
    expect(await cooldownOf(own)).toEqual([{ model, seconds: 20, max: 25, fault: false }])
  })

  it('two refusals that do not see each other leave the longer cooldown', async () => {
    const own = await ownChannel('unseen')
    const [one, two] = [await call(own), await call(own)]
    await whileUncommitted(
      world.pool,
      [
        `insert into cooldown values ('unseen', $1, false, now() + interval '60 seconds', 5, 60000)`,
        model,
      ],
      () => own.attempts.closeAttempt({ taskId: one.taskId, n: 1, ...refused }),
    )
    expect((await cooldownOf(own))[0]?.seconds).toBe(60)
    await own.attempts.closeAttempt({ taskId: two.taskId, n: 1, ...refused })
    expect((await cooldownOf(own))[0]?.seconds).toBe(60)
  })

  it.each([
    ['a refusal', refused, [1, 2, 4, 8, 16, 30, 30]],
    ['a fault', credential, [60, 120, 240, 480, 900, 900]],
  ] as const)(
    'without a time each cooldown in a row is twice as long, up to a limit: %s',
    async (name, outcome, expected) => {
      const own = await ownChannel(name)
      const seconds: number[] = []
      while (seconds.length < expected.length) {
        const { taskId, n } = await call(own)
        await own.attempts.closeAttempt({ taskId, n, ...outcome })
        seconds.push((await cooldownOf(own))[0]?.seconds ?? 0)
        await passUntil(own)
      }
      expect(seconds).toEqual(expected)
    },
  )
})

describe('after an operator fault', () => {
  it.each([
    ['a wrong credential keeps every model from the channel', credential, '*'],
    ['an unknown model keeps that model', unknownModel, model],
  ] as const)(
    '%s for a minute, then one call goes, and the first image ends it',
    async (name, fault, of) => {
      const own = await ownChannel(name)
      const failing = await Promise.all(Array.from({ length: 5 }, () => call(own)))
      for (const { taskId, n } of failing) {
        await own.attempts.closeAttempt({ taskId, n, ...fault })
      }
      expect(await cooldownOf(own)).toEqual([{ model: of, seconds: 60, max: 1, fault: true }])
      expect(await ask(own)).toBe('cooldown')

      await passUntil(own)
      const probe = await call(own)
      await passUntil(own)
      expect(await ask(own)).toBe('full')
      await own.attempts.closeAttempt({ taskId: probe.taskId, n: 1, ...fault })
      expect((await cooldownOf(own))[0]?.seconds).toBe(120)

      await world.pool.query(
        `update cooldown set until_at = now() - interval '2 hours' where channel = $1`,
        [name],
      )
      const mended = await call(own)
      expect(await ask(own)).toBe('full')
      const { taskId, answerId } = mended
      await own.attempts.settleTask({ meta: testMeta(taskId), answerId })
      expect([await ask(own), await ask(own)]).toEqual(['opened', 'opened'])
    },
  )

  it('of 50 tasks that wait for a channel with a wrong credential one calls at its end', async () => {
    const own = await ownChannel('waited for')
    const { taskId, n } = await call(own)
    await own.attempts.closeAttempt({ taskId, n, ...credential })
    const during = await Promise.all(Array.from({ length: 50 }, () => ask(own)))
    expect(new Set(during)).toEqual(new Set(['cooldown']))
    await passUntil(own)
    const after = await Promise.all(Array.from({ length: 50 }, () => ask(own)))
    expect(after.filter((answer) => answer === 'opened')).toHaveLength(1)
    expect(after.filter((answer) => answer === 'full')).toHaveLength(49)
  })

  it('a fault replaces a cooldown for a refusal, and a refusal does not shorten one for a fault', async () => {
    const own = await ownChannel('both')
    const [late, first] = [await call(own), await call(own)]
    await own.attempts.closeAttempt({ taskId: first.taskId, n: 1, ...refused, concurrencyMax: 50 })
    await passUntil(own)
    const second = await call(own)
    await own.attempts.closeAttempt({ taskId: second.taskId, n: 1, ...unknownModel })
    const fault = [{ model, seconds: 60, max: 1, fault: true }]
    expect(await cooldownOf(own)).toEqual(fault)
    await own.attempts.closeAttempt({ taskId: late.taskId, n: 1, ...refused, retryAfterMs: 2_000 })
    expect(await cooldownOf(own)).toEqual(fault)
  })
})
