import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { DarkroomOptions, TaskProgress, Try } from '../../clients/typescript/src/darkroom.ts'
import { Darkroom, DarkroomError } from '../../clients/typescript/src/darkroom.ts'
import { pauseMs } from '../../clients/typescript/src/repeats.ts'
import { bought, once } from '../support/clients/bought.ts'
import type { Fault, Faults } from '../support/clients/faultProxy.ts'
import { firstPosts, startFaultProxy } from '../support/clients/faultProxy.ts'
import { uncalledOperations } from '../support/clients/uncalledOperations.ts'
import { redPixelPng } from '../support/images.ts'
import { freePort } from '../support/ports.ts'
import { calmService } from '../support/service/calmService.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { timed, until } from '../support/timing.ts'
import { useFinished } from '../support/useFinished.ts'
import { listen, listenAnswering } from '../support/upstream/testServers.ts'
import { headersOf } from '../support/webhooks/receiver.ts'
import { useWebhooks } from '../support/webhooks/useWebhooks.ts'

const model = 'familyb-image-2-vip'
const service = await calmService()
const world = useWebhooks()
const finished = useFinished()

// Pauses are a random part of a time that grows. Without the pauses that the service asks for, they are nothing here.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0))

/** A client of a new account, through a proxy with faults. */
async function connect(faults?: Faults, options: DarkroomOptions = {}) {
  const { secret } = await service.account()
  const proxy = await startFaultProxy(service.url, faults, finished)
  const direct = new Darkroom({ baseUrl: service.url, apiKey: secret })
  return {
    darkroom: new Darkroom({ baseUrl: proxy.url, apiKey: secret, ...options }),
    /** The same account without faults. */
    direct,
    proxy,
    secret,
    posts: () => proxy.of('POST', '/v1/images/tasks'),
    bought: () => bought({ url: service.url, secret }),
  }
}

/** Returns the error of a call. */
async function failure(call: Promise<unknown>): Promise<DarkroomError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof DarkroomError) return error
  throw new Error(`no DarkroomError, but ${String(error)}`)
}

const isPng = (bytes: Uint8Array) => Buffer.from(bytes.subarray(1, 4)).toString() === 'PNG'

// Most wait, so they run at the same time. What changes the clock or the chance of all comes after them.
describe.concurrent('the 25 points of a client that buys images, in TypeScript', () => {
  it('01 the key is minted once per purchase, and body and key are the same at every repeat', async () => {
    const { darkroom, posts, bought } = await connect(firstPosts('lose', { status: 503 }, 'refuse'))
    const picture = await darkroom.images.generate({ model, prompt: 'point 1' })
    expect(isPng(await picture.bytes())).toBe(true)
    const keys = posts().map(({ headers }) => headers['idempotency-key'])
    expect([keys.length, new Set(keys).size]).toEqual([4, 1])
    expect(await bought()).toEqual(once)
    await darkroom.tasks.create({ model, action: 'generate', prompt: 'point 1' })
    expect(posts().at(-1)?.headers['idempotency-key']).not.toBe(keys[0])
  })

  it('02 the error of a call with an unknown outcome has its key, and a call by hand with it buys nothing twice', async () => {
    const { darkroom, direct, bought } = await connect(firstPosts('lose'), { retriesMax: 0 })
    const wanted = { model, prompt: 'point 2' } as const
    const { idempotencyKey } = await failure(darkroom.images.generate(wanted))
    await direct.images.generate(wanted, { idempotencyKey })
    expect(await bought()).toEqual(once)
    const accepted = await direct.tasks.create(
      { ...wanted, action: 'generate' },
      { idempotencyKey },
    )
    expect(accepted).toMatchObject({ idempotent_replayed: true, idempotency_key: idempotencyKey })
    const failed = await failure(
      direct.images.generate({ model, prompt: 'point 2 [sim:moderation]' }),
    )
    expect([failed.code, failed.idempotencyKey]).toEqual(['content_policy_violation', undefined])
    const refused = await failure(direct.images.generate({ model, prompt: '' }))
    expect([refused.status, refused.idempotencyKey]).toEqual([400, undefined])
  })

  it.each<readonly [string, Fault, number]>([
    ['429', { status: 429 }, 2],
    ['500', { status: 500 }, 2],
    ['504 of a proxy', { status: 504, body: '<html>' }, 2],
    ['a lost answer', 'lose', 2],
    ['half an answer', 'truncate', 2],
    ['a 200 that is not JSON', { status: 200, body: '<html>' }, 2],
    ['x-should-retry: false', { status: 500, headers: { 'x-should-retry': 'false' } }, 1],
    ['408', { status: 408 }, 1],
    ['409', { status: 409 }, 1],
  ])('03 what may pass is repeated, and nothing else: %s', async (_name, fault, tries) => {
    const { darkroom, posts, bought } = await connect(firstPosts(fault))
    const call = darkroom.tasks.create({ model, action: 'generate', prompt: 'point 3' })
    const outcome = await call.catch((error: unknown) => error)
    expect(outcome instanceof DarkroomError).toBe(tries === 1)
    expect([posts().length, (await bought()).tasks]).toEqual([tries, tries - 1])
  })

  it('03 what would do a second thing is not repeated after a lost answer', async () => {
    const { darkroom, direct, proxy } = await connect(firstPosts('lose'))
    await failure(darkroom.webhooks.create({ url: 'https://example.com/' }))
    expect(proxy.seen.length).toBe(1)
    expect(await Array.fromAsync(direct.webhooks.list())).toHaveLength(1)
  })

  it('03 a webhook that is gone after a lost answer was deleted by it', async () => {
    const { darkroom } = await connect(({ method }, number) =>
      method === 'DELETE' && number === 1 ? 'lose' : undefined,
    )
    const { webhook_id } = await darkroom.webhooks.create({ url: 'https://example.com/' })
    const deleted = { webhook_id, deleted: true }
    expect(await darkroom.webhooks.delete(webhook_id)).toEqual(deleted)
    const again = await failure(darkroom.webhooks.delete(webhook_id))
    expect(again.code).toBe('webhook_not_found')
  })

  it('04 Retry-After is obeyed in full, and a call that cannot wait so long fails at once', async () => {
    const { darkroom, posts } = await connect(
      firstPosts(
        { status: 429, headers: { 'retry-after': '2' } },
        { status: 429, headers: { 'retry-after': '90' } },
      ),
    )
    const create = (timeoutMs: number) =>
      darkroom.tasks.create({ model, action: 'generate', prompt: 'point 4' }, { timeoutMs })
    const waitedMs = await timed(async () => {
      expect((await failure(create(60_000))).status).toBe(429)
    })
    expect(posts().length).toBe(2)
    expect(waitedMs).toBeGreaterThanOrEqual(1_990)
  })

  it('06 a connection that breaks is told by its code, and neither an abort nor a wrong address is repeated', async () => {
    const tries: Try[] = []
    const onTry = (seen: Try) => tries.push(seen)
    const { darkroom, proxy } = await connect(() => 'refuse', { onTry })
    expect((await failure(darkroom.account.get({ retriesMax: 1 }))).code).toMatch(/ECONN|UND_ERR/)
    expect(tries.length).toBe(2)
    const tls = new Darkroom({ baseUrl: proxy.url.replace('http', 'https'), apiKey: 'k', onTry })
    expect((await failure(tls.account.get())).code).toMatch(/^ERR_SSL/)
    expect(tries.length).toBe(3)
    const aborted = await failure(darkroom.account.get({ signal: AbortSignal.abort('enough') }))
    expect([aborted.code, aborted.cause]).toEqual(['aborted', 'enough'])
    expect(tries.length).toBe(4)
  })

  it('07 `generate` returns when the image is there, and `create` as soon as the task is accepted', async () => {
    const { darkroom } = await connect()
    const prompt = 'point 7 [sim:hold]'
    const making = darkroom.images.generate({ model, prompt })
    const { task_id } = await darkroom.tasks.create({ model, action: 'generate', prompt })
    await service.simulator.waitForCalls(2, { prompt })
    expect(await darkroom.tasks.get(task_id)).toMatchObject({ status: 'processing' })
    await service.simulator.release({ prompt })
    expect((await making).task.status).toBe('succeeded')
  })

  it('08 a wait holds lookups open, holds them shorter when a proxy cuts them, and polls at last', async () => {
    const { darkroom, proxy, bought } = await connect(({ headers }) =>
      headers['prefer'] === undefined ? undefined : { cutAfterMs: 200 },
    )
    const prompt = 'point 8 [sim:hold]'
    const making = darkroom.images.generate({ model, prompt })
    const preferred = () => proxy.of('GET', '/v1/tasks/').map(({ headers }) => headers['prefer'])
    const held = [60, 30, 15, 7, 3, 1].map((seconds) => `wait=${seconds}`)
    await expect.poll(() => preferred().slice(0, 7)).toEqual([...held, undefined])
    await service.simulator.release({ prompt })
    expect((await making).task.status).toBe('succeeded')
    expect(await bought()).toEqual(once)
  })

  it('09 the deadline of a whole call holds, with the task and its key in the error', async () => {
    const { darkroom } = await connect()
    const prompt = 'point 9 [sim:hold]'
    const error = await failure(
      darkroom.images.generate({ model, prompt }, { timeoutMs: 1_500.5, idempotencyKey: 'nine' }),
    )
    expect(error).toMatchObject({ code: 'timeout', idempotencyKey: 'nine' })
    const taskId = error.taskId ?? ''
    await service.simulator.release({ prompt })
    expect(await darkroom.tasks.wait(taskId)).toMatchObject({ status: 'succeeded' })
    const silent = new Darkroom({ baseUrl: await listen(() => {}, finished), apiKey: 'k' })
    const following = Array.fromAsync(silent.tasks.follow('task_1', { timeoutMs: 300 }))
    expect(await failure(following)).toMatchObject({ code: 'timeout', taskId: 'task_1' })
  })

  it('11 no wait returns before the end, whatever status the service says before', async () => {
    const { url, count } = await listenAnswering((response, _request, count) => {
      const status = count < 3 ? 'almost' : 'succeeded'
      response.end(JSON.stringify({ task_id: 'task_1', status, progress: 99 }))
    }, finished)
    const darkroom = new Darkroom({ baseUrl: url, apiKey: 'k' })
    expect(await darkroom.tasks.wait('task_1', { pollMs: 1 })).toMatchObject({
      status: 'succeeded',
    })
    expect(count()).toBe(3)
  })

  it('12 the id of a task is all that another process needs to wait for its image', async () => {
    const { darkroom, direct } = await connect()
    const { task_id } = await darkroom.tasks.create({ model, action: 'generate', prompt: 'p 12' })
    const picture = direct.images.of(await direct.tasks.wait(task_id))
    expect(isPng(await picture.bytes())).toBe(true)
  })

  it('13 the poll interval can be set, and is never below what the service asks for', async () => {
    const { url } = await listenAnswering((response, _request, count) => {
      const status = count % 2 === 1 ? 'processing' : 'failed'
      response.setHeader('retry-after', '1')
      response.end(JSON.stringify({ task_id: 'task_1', status, progress: 1 }))
    }, finished)
    const darkroom = new Darkroom({ baseUrl: url, apiKey: 'k' })
    const wait = (pollMs: number) => timed(() => darkroom.tasks.wait('task_1', { pollMs }))
    expect(await wait(10)).toBeGreaterThanOrEqual(990)
    expect(await wait(1_500)).toBeGreaterThanOrEqual(1_490)
  })

  it('14 an abort only stops the wait, and a cancel says that nothing was charged', async () => {
    const { darkroom, bought } = await connect()
    // The only channel declines it, so it waits for 30 s.
    const prompt = 'point 14 [sim:403 about=html times=1]'
    const stop = new AbortController()
    const onProgress = () => stop.abort()
    const making = darkroom.images.generate({ model, prompt }, { signal: stop.signal, onProgress })
    const { code, taskId = '' } = await failure(making)
    expect(code).toBe('aborted')
    await service.simulator.waitForCalls(1, { prompt })
    const cancelled = await until('cancelled', () =>
      darkroom.tasks.cancel(taskId).catch(() => undefined),
    )
    expect(cancelled).toMatchObject({ error: { code: 'cancelled' }, credits_charged: 0 })
    expect(await bought()).toEqual({ tasks: 1, charges: 0 })
  })

  it('15 progress comes by a callback, the id first, and by an iterator that resumes a broken stream', async () => {
    const slow = 'familya-3.1-flash-lite-image'
    const { darkroom, proxy } = await connect(({ path }) =>
      path.endsWith('/events') && streams().length === 1 ? 'break' : undefined,
    )
    const streams = () => proxy.seen.filter(({ path }) => path.endsWith('/events'))
    const told: TaskProgress[] = []
    const onProgress = (task: TaskProgress) => told.push(task)
    const prompt = 'point 15 [sim:hold]'
    const making = darkroom.images.generate({ model: slow, prompt }, { onProgress })
    const { task_id } = await until('the id', () => told[0])
    const following = Array.fromAsync(darkroom.tasks.follow(task_id))
    await service.simulator.waitForCalls(1, { prompt })
    await until('the second stream', () => streams()[1])
    await service.simulator.release({ prompt })
    const followed = await following
    const progress = followed.map((record) => record.progress)
    expect(progress).toEqual(progress.toSorted((a, b) => a - b))
    expect(followed.at(-1)).toMatchObject({ status: 'succeeded', progress: 100 })
    expect((await making).task.task_id).toBe(task_id)
    expect(told.at(-1)).toMatchObject({ status: 'succeeded' })
    expect(streams().map(({ headers }) => headers['last-event-id'])).toEqual([
      undefined,
      expect.stringMatching(/^\d+$/),
    ])
  })

  it('15 events end at empty lines alone', async () => {
    const record = { task_id: 'task_1', status: 'failed', error: { message: 'one\u2028two' } }
    const { url } = await listenAnswering((response) => {
      response.write(`id: 1\r\ndata: ${JSON.stringify(record)}\r\n\r\n`)
    }, finished)
    const darkroom = new Darkroom({ baseUrl: url, apiKey: 'k', timeoutMs: 10_000 })
    expect(await Array.fromAsync(darkroom.tasks.follow('task_1'))).toEqual([record])
  })

  it('16 an error has status, code, field, request and task', async () => {
    const { darkroom } = await connect()
    const wrong = { model, prompt: 'point 16', size: '4K' } as const
    expect(await failure(darkroom.images.generate(wrong))).toMatchObject({
      name: 'DarkroomError',
      status: 400,
      code: expect.any(String),
      param: 'size',
      requestId: expect.stringMatching(/^req_/),
      message: expect.stringContaining('model'),
    })
    const prompt = 'point 16 [sim:moderation]'
    const { code, status, taskId } = await failure(darkroom.images.generate({ model, prompt }))
    expect([code, status]).toEqual(['content_policy_violation', undefined])
    expect(await darkroom.tasks.get(taskId ?? '')).toMatchObject({ status: 'failed' })
  })

  it('17 each HTTP request can be seen with the status and the headers of its answer', async () => {
    const tries: Try[] = []
    const { darkroom } = await connect(() => undefined)
    await darkroom.account.get({ onTry: (seen) => void tries.push(seen) })
    const [seen] = tries
    expect(seen).toMatchObject({ method: 'GET', path: '/v1/account', status: 200, number: 1 })
    expect(seen?.headers?.get('x-request-id')).toMatch(/^req_/)
  })

  it('18 what is held and what was charged are fields', async () => {
    const { darkroom } = await connect()
    const accepted = await darkroom.tasks.create({ model, action: 'generate', prompt: 'p 18' })
    const { credits_charged } = await darkroom.tasks.wait(accepted.task_id)
    expect(accepted.credits_held).toBeGreaterThan(0)
    expect(credits_charged).toBe(accepted.credits_held)
  })

  it('19 lists are iterated over row by row and page by page', async () => {
    const { darkroom, proxy } = await connect()
    const ids: string[] = []
    for (const prompt of ['1', '2', '3', '4', '5'])
      ids.unshift((await darkroom.tasks.create({ model, action: 'generate', prompt })).task_id)
    const list = darkroom.tasks.list({ limit: 2 })
    expect((await Array.fromAsync(list)).map(({ task_id }) => task_id)).toEqual(ids)
    const pages = await Array.fromAsync(list.pages())
    expect(pages.map(({ data }) => data.length)).toEqual([2, 2, 1])
    expect(proxy.of('GET', '/v1/tasks?').length).toBe(6)
  })

  it('21 an image comes as bytes, stream or file, whole or not at all, and says when it is gone', async () => {
    const { darkroom } = await connect()
    const picture = await darkroom.images.generate({ model, prompt: 'point 21' })
    const folder = tempFolder(finished)
    await picture.save(join(folder, 'image.png'))
    const bytes = Buffer.from(await picture.bytes())
    expect(readFileSync(join(folder, 'image.png'))).toEqual(bytes)
    expect(Buffer.from(await new Response(await picture.stream()).arrayBuffer())).toEqual(bytes)
    await expect(picture.save(join(folder, 'none', 'image.png'))).rejects.toThrow('ENOENT')
    expect(readdirSync(folder)).toEqual(['image.png'])
    const small = await picture.variant({ width: 128, format: 'webp' }).bytes()
    expect(Buffer.from(small.subarray(8, 12)).toString()).toBe('WEBP')
    const record = await darkroom.tasks.delete(picture.task.task_id)
    expect((await failure(picture.bytes())).code).toBe('result_expired')
    expect(() => darkroom.images.of(record)).toThrow('expired')
  })

  it('22 source images are bytes, Blob, stream or path, whose type and size are looked at before anything is sent', async () => {
    const { darkroom, posts } = await connect()
    const path = join(tempFolder(finished), 'source.png')
    writeFileSync(path, redPixelPng)
    const blob = new Blob([redPixelPng])
    const images = [redPixelPng, blob, blob.stream(), path]
    const prompt = 'point 22'
    const { task } = await darkroom.images.edit({ model, prompt, images })
    expect(task.status).toBe('succeeded')
    const [call] = await service.simulator.calls({ prompt })
    expect(call?.images.length).toBe(4)
    let pieces = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pieces += 1
        if (pieces === 40) controller.close()
        else controller.enqueue(Buffer.alloc(1_048_576))
      },
    })
    for (const [wrong, problem] of [
      [[], '1 to 16'],
      [[redPixelPng, new Uint8Array(9)], 'images[1] is no PNG'],
      [[new Uint8Array(20 * 1_048_576 + 1)], '20 MiB'],
      [Array.from({ length: 4 }, () => Buffer.concat([redPixelPng, Buffer.alloc(17e6)])), '64 MiB'],
      [['/dev/null'], 'images[0] is no file'],
      [[endless], '20 MiB'],
    ] as const) {
      const { message } = await failure(darkroom.images.edit({ model, prompt, images: wrong }))
      expect(message).toContain(problem)
    }
    expect(pieces).toBeLessThan(30)
    const stalled = darkroom.images.edit(
      { model, prompt, images: [new ReadableStream()] },
      { timeoutMs: 200 },
    )
    expect((await failure(stalled)).code).toBe('timeout')
    expect(posts().length).toBe(1)
  })

  it('23 the key goes to the service alone: not to the address of an image, and not where a redirect leads', async () => {
    const seen: (string | undefined)[] = []
    const stranger = await listenAnswering((response, request) => {
      seen.push(request.headers.authorization)
      response.end(redPixelPng)
    }, finished)
    const { darkroom } = await connect(() => ({
      status: 307,
      headers: { location: stranger.url },
    }))
    const error = await failure(darkroom.account.get())
    expect([error.code, stranger.count()]).toEqual(['redirected', 0])
    const assets = [{ type: 'image', url: stranger.url, mime_type: 'image/png' }] as const
    const task = { task_id: 'task_1', model, status: 'succeeded', progress: 100 } as const
    const record = { ...task, created_at: '2026-01-01T00:00:00Z', output: { assets } }
    await darkroom.images.of(record).bytes()
    expect(seen).toEqual([undefined])
  })

  it('25 it names itself and its runtime, takes another `fetch`, logs no secret, and calls nobody else', async () => {
    const { secret } = await service.account()
    const sent: string[] = []
    const tries: Try[] = []
    const darkroom = new Darkroom({
      baseUrl: service.url,
      apiKey: `${secret}\n`,
      fetch: (url, init) => {
        sent.push(typeof url === 'string' ? url : 'another form of address')
        return fetch(url, init)
      },
      onTry: (seen) => void tries.push(seen),
    })
    const picture = await darkroom.images.generate({ model, prompt: 'a secret prompt' })
    await picture.bytes()
    expect(new Set(sent.map((url) => new URL(url).origin))).toEqual(new Set([service.url]))
    const logged = JSON.stringify([tries, darkroom])
    expect(logged).not.toContain(secret)
    expect(logged).not.toMatch(/secret prompt|signature=/)
    const { proxy, darkroom: other } = await connect()
    await other.models.list()
    expect(proxy.seen[0]?.headers['user-agent']).toMatch(
      /^darkroom-client\/\d+\.\d+\.\d+ Node\.js\/\d+/,
    )
  })
})

describe.concurrent('an image is bought once, and arrives, with the TypeScript client', () => {
  it('in a storm of 429s', async () => {
    const refusal = { status: 429, headers: { 'retry-after': '1' } }
    const { darkroom, bought } = await connect(({ method }, number) =>
      number <= (method === 'POST' ? 2 : 3) ? refusal : undefined,
    )
    const picture = await darkroom.images.generate({ model, prompt: 'storm' })
    expect(isPng(await picture.bytes())).toBe(true)
    expect(await bought()).toEqual(once)
  })

  it('when the API is restarted while it waits', async ({ onTestFinished }) => {
    const { secret } = await service.account()
    const PORT = String(await freePort())
    const first = await service.startApi({ PORT })
    // With short pauses and many of them, so that it outlives a start that is slow.
    const darkroom = new Darkroom({ baseUrl: first.url, apiKey: secret, retriesMax: 30 })
    const prompt = 'restarted [sim:hold]'
    const making = darkroom.images.generate({ model, prompt })
    await service.simulator.waitForCalls(1, { prompt })
    vi.spyOn(Math, 'random').mockReturnValue(0.1)
    await first.stop(0)
    const next = await service.startApi({ PORT })
    onTestFinished(() => next.stop())
    await service.simulator.release({ prompt })
    expect((await making).task.status).toBe('succeeded')
    expect((await Array.fromAsync(darkroom.tasks.list())).length).toBe(1)
  })
})

describe('with another clock or chance', () => {
  it('05 pauses are a random part of a time that doubles up to 30 s, and repeats are counted for each client and call', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const pauses = [1, 2, 3, 4, 5, 6, 7].map((failures) => pauseMs(failures, undefined) / 1_000)
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30])
    vi.spyOn(Math, 'random').mockReturnValue(0)
    expect(pauseMs(7, undefined)).toBe(0)
    const { darkroom, proxy } = await connect(() => ({ status: 503 }), { retriesMax: 2 })
    await failure(darkroom.account.get())
    await failure(darkroom.account.get({ retriesMax: 0 }))
    expect(proxy.seen.length).toBe(3 + 1)
  })

  it('10 an HTTP request may take longer than the service holds it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let requests = 0
    const silent: typeof fetch = (_url, init) =>
      new Promise((_resolve, reject) => {
        requests += 1
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))
      })
    const stop = new AbortController()
    const darkroom = new Darkroom({ baseUrl: service.url, apiKey: 'k', fetch: silent })
    const waiting = failure(darkroom.tasks.wait('task_1', { signal: stop.signal }))
    await vi.advanceTimersByTimeAsync(119_000)
    expect(requests).toBe(1)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(requests).toBe(2)
    stop.abort()
    expect((await waiting).code).toBe('aborted')
    // The native answer has the whole image in it.
    const reading = failure(darkroom.tasks.result('task_1', { retriesMax: 0 }))
    await vi.advanceTimersByTimeAsync(359_000)
    expect(await Promise.race([reading, Promise.resolve('reads on')])).toBe('reads on')
    await vi.advanceTimersByTimeAsync(2_000)
    expect((await reading).code).toBe('no_answer')
    vi.useRealTimers()
  })

  it('20 a delivery is unwrapped when its signature and its time are right', async () => {
    const { darkroom } = await connect()
    const hook = await world.newHook()
    const { secret, webhook_id } = await darkroom.webhooks.create({ url: hook.url })
    await darkroom.tasks.create({ model, action: 'generate', prompt: 'point 20' })
    const [received] = await hook.waitFor(1)
    if (received === undefined) throw new Error('nothing received')
    const headers = headersOf(received)
    const event = await darkroom.webhooks.unwrap(received.body, headers, secret)
    expect(event).toMatchObject({ type: 'task.succeeded', data: { status: 'succeeded' } })
    vi.stubEnv('DARKROOM_WEBHOOK_SECRET', secret)
    const { webhooks } = new Darkroom()
    expect(await webhooks.unwrap(Buffer.from(received.body), new Headers(headers))).toEqual(event)
    // Two signatures after a rotation.
    const { secret: next } = await darkroom.webhooks.rotate(webhook_id)
    await darkroom.webhooks.test(webhook_id)
    const second = (await hook.waitFor(2))[1] ?? received
    for (const each of [secret, next]) await webhooks.unwrap(second.body, headersOf(second), each)
    const forged = webhooks.unwrap(`${received.body} `, headers)
    expect((await failure(forged)).code).toBe('invalid_signature')
    vi.setSystemTime(Date.now() + 301_000)
    const late = await failure(webhooks.unwrap(received.body, headers))
    expect([late.code, late.message]).toEqual([
      'invalid_signature',
      expect.stringContaining('clock'),
    ])
    const signed = await webhooks.sign(received.body, secret)
    expect(await webhooks.unwrap(received.body, signed, secret)).toEqual(event)
    vi.useRealTimers()
    vi.unstubAllEnvs()
  })

  it.each([-3_600_000, 3_600_000])('when its clock is wrong by %i ms', async (wrongMs) => {
    const date = new Date(Date.now() + 1_000).toUTCString()
    const { darkroom, bought, posts } = await connect(
      firstPosts({
        status: 503,
        headers: { date: new Date().toUTCString(), 'retry-after': date },
      }),
    )
    vi.setSystemTime(Date.now() + wrongMs)
    await (
      await darkroom.images.generate({ model, prompt: 'clock' }, { timeoutMs: 30_000 })
    ).bytes()
    vi.useRealTimers()
    expect(posts().length).toBe(2)
    expect(await bought()).toEqual(once)
  })
})

it('calls every operation of the API but those that it leaves to others', async () => {
  const { darkroom, proxy } = await connect()
  const { tasks, images, webhooks } = darkroom
  const picture = await images.edit({ model, prompt: 'all', images: [redPixelPng] })
  const { task_id } = await tasks.create({ model, action: 'generate', prompt: 'all' })
  await picture.bytes()
  await Array.fromAsync(tasks.follow(task_id))
  expect(await tasks.result(task_id)).toHaveProperty('data')
  const wanted = { model, action: 'edit', prompt: 'all' } as const
  const estimate = await darkroom.estimate({
    ...wanted,
    input_images: [{ mime_type: 'image/png' }],
  })
  expect(estimate).toMatchObject({ accepted: true, credits: picture.task.credits_charged })
  expect((await failure(tasks.cancel(task_id))).code).toBe('task_not_cancellable')
  expect(await Array.fromAsync(tasks.list({ status: 'succeeded' }))).toHaveLength(2)
  expect((await darkroom.models.list()).data.length).toBeGreaterThan(5)
  expect((await darkroom.account.get()).credits.held).toBe(0)
  expect((await darkroom.usage.get({ group_by: 'model' })).total.tasks.succeeded).toBe(2)
  expect(await tasks.delete(task_id)).toMatchObject({ status: 'expired' })
  const hook = await world.newHook()
  const { webhook_id } = await webhooks.create({ url: hook.url, events: ['task.failed'] })
  const { delivery_id } = await webhooks.test(webhook_id)
  await hook.waitFor(1)
  await until('redelivered', () =>
    webhooks.redeliver(webhook_id, delivery_id).catch(() => undefined),
  )
  await webhooks.rotate(webhook_id)
  expect(await webhooks.enable(webhook_id)).toMatchObject({ status: 'active' })
  expect(await webhooks.get(webhook_id)).toMatchObject({ webhook_id, url: hook.url })
  expect(await Array.fromAsync(webhooks.list())).toHaveLength(1)
  expect(await Array.fromAsync(webhooks.deliveries(webhook_id))).toMatchObject([{ delivery_id }])
  expect(await webhooks.delete(webhook_id)).toEqual({ webhook_id, deleted: true })
  expect(uncalledOperations(proxy.seen)).toEqual([])
})
