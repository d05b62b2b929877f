import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bought, once } from '../support/clients/bought.ts'
import type { Fault, Faults } from '../support/clients/faultProxy.ts'
import { firstPosts, startFaultProxy } from '../support/clients/faultProxy.ts'
import { clientKinds, usePython } from '../support/clients/runPython.ts'
import { uncalledOperations } from '../support/clients/uncalledOperations.ts'
import { redPixelPng } from '../support/images.ts'
import { freePort } from '../support/ports.ts'
import { calmService } from '../support/service/calmService.ts'
import { textOf } from '../support/sourceFiles.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { listen, listenAnswering } from '../support/upstream/testServers.ts'
import { useFinished } from '../support/useFinished.ts'
import { headersOf } from '../support/webhooks/receiver.ts'
import { useWebhooks } from '../support/webhooks/useWebhooks.ts'

const model = 'familyb-image-2-vip'
const service = await calmService()
const world = useWebhooks()
const python = usePython()
const finished = useFinished()
const everyOperation = textOf('test/support/clients/everyOperation.py')

/** What a program of a new account needs, through a proxy with faults. */
async function connect(faults?: Faults) {
  const { secret } = await service.account()
  const proxy = await startFaultProxy(service.url, faults, finished)
  return {
    given: { url: proxy.url, direct: service.url, secret, model },
    proxy,
    posts: () => proxy.of('POST', '/v1/images/tasks'),
    bought: () => bought({ url: service.url, secret }),
  }
}

// Most of the time they wait, so they run at the same time.
describe.concurrent.each(clientKinds)('an image is bought once, and arrives: %s', (kind) => {
  it('01 after answers that were lost, with one key over all repeats', async () => {
    const { given, posts, bought } = await connect(firstPosts('lose', { status: 503 }, 'refuse'))
    const lines = `
      image = await darkroom.images.generate(model=given["model"], prompt="python 1")
      return (await image.bytes())[1:4].decode()`
    expect(await python.run(kind, lines, given)).toBe('PNG')
    const keys = posts().map(({ headers }) => headers['idempotency-key'])
    expect([keys.length, new Set(keys).size]).toEqual([4, 1])
    expect(await bought()).toEqual(once)
  })

  it('02 by hand too: the error of an unknown outcome has the key, that of a known one has none', async () => {
    const { given, bought } = await connect(firstPosts('lose'))
    const lines = `
      wanted = {"model": given["model"], "prompt": "python 2"}
      lost = await failure(lambda: client(retries_max=0).images.generate(**wanted))
      direct = client(given["direct"])
      again = await direct.tasks.create(action="generate", idempotency_key=lost["idempotency_key"], **wanted)
      wanted["prompt"] += " [sim:moderation]"
      failed = await failure(lambda: direct.images.generate(**wanted))
      refused = await failure(lambda: direct.images.generate(model=given["model"], prompt="", size="4K"))
      return [again["idempotent_replayed"], failed, refused]`
    const [replayed, failed, refused] = await python.run(kind, lines, given)
    expect(replayed).toBe(true)
    expect(Object.keys(failed)).toEqual(['code', 'task_id', 'message'])
    expect(failed.code).toBe('content_policy_violation')
    expect(Object.keys(refused)).toEqual(['status', 'code', 'param', 'request_id', 'message'])
    expect(await bought()).toEqual({ tasks: 2, charges: 1 })
  })

  it('08 behind a proxy that cuts what is silent: lookups are held shorter, and poll at last', async () => {
    const { given, proxy, bought } = await connect(({ headers }) =>
      headers['prefer'] === undefined ? undefined : { cutAfterMs: 200 },
    )
    const prompt = `python 8 ${kind} [sim:hold]`
    const lines = `
      wanted = {"model": given["model"], "prompt": given["prompt"]}
      return (await darkroom.images.generate(**wanted)).task["status"]`
    const making = python.run(kind, lines, { ...given, prompt })
    const preferred = () => proxy.of('GET', '/v1/tasks/').map(({ headers }) => headers['prefer'])
    const held = [60, 30, 15, 7, 3, 1].map((seconds) => `wait=${seconds}`)
    await expect.poll(() => preferred().slice(0, 7)).toEqual([...held, undefined])
    await service.simulator.release({ prompt })
    expect(await making).toBe('succeeded')
    expect(await bought()).toEqual(once)
  })

  it('09 within the deadline of the whole call, whose error has task and key', async () => {
    const { given, bought } = await connect()
    const prompt = `python 9 ${kind} [sim:hold]`
    const dripping = await listen((_request, response) => {
      const drip = setInterval(() => response.write(' '), 50)
      response.on('close', () => clearInterval(drip))
    }, finished)
    const lines = `
      wanted = {"model": given["model"], "prompt": given["prompt"], "idempotency_key": "nine"}
      # On a busy machine the first deadline may come before the task.
      for timeout_ms in (1500, 15000):
          late = await failure(lambda: darkroom.images.generate(**wanted, timeout_ms=timeout_ms))
          if "task_id" in late:
              break
      began = time.monotonic()
      follow = darkroom.tasks.follow(late["task_id"], timeout_ms=1500)
      async def read():
          return [each async for each in follow]
      followed = await failure(read)
      dripped = await failure(lambda: client(given["dripping"]).account.get(timeout_ms=1500))
      return [late, followed, dripped, time.monotonic() - began]`
    const ended = await python.run(kind, lines, { ...given, prompt, dripping })
    await service.simulator.release({ prompt })
    const message = expect.stringMatching(/^The call took longer than 15\d+ ms\.$/)
    const timeout = { code: 'timeout', message }
    const task_id = expect.stringMatching(/^task_/)
    expect(ended).toEqual([
      { ...timeout, task_id, idempotency_key: 'nine' },
      { ...timeout, task_id },
      timeout,
      expect.any(Number),
    ])
    expect(ended[3]).toBeLessThan(45)
    expect(await bought()).toEqual(once)
  })

  it('15 and is followed by events, which resume a stream that broke, each try told', async () => {
    const { given, proxy } = await connect(({ path }, number) =>
      path.endsWith('/events') && number === 1 ? 'truncate' : undefined,
    )
    const lines = `
      tries = []
      seeing = darkroom.with_options(on_try=tries.append)
      prompt = "python 15 [sim:delay ms=1500]"
      task = await seeing.tasks.create(model=given["model"], action="generate", prompt=prompt)
      records = [record async for record in seeing.tasks.follow(task["task_id"])]
      told = [[each.method, each.number, each.status] for each in tries]
      assert "python 15" not in repr(tries) and given["secret"] not in repr([tries, seeing._runner.settings])
      return [[record["progress"] for record in records], records[-1]["status"], told]`
    const [progress, status, told] = await python.run(kind, lines, given)
    expect(progress).toEqual(progress.toSorted((a: number, b: number) => a - b))
    expect([status, progress.at(-1)]).toEqual(['succeeded', 100])
    expect(told.slice(0, 3)).toEqual([
      ['POST', 1, 202],
      ['GET', 1, 200],
      ['GET', expect.any(Number), 200],
    ])
    expect(proxy.of('GET', '/v1/tasks/').length).toBe(told.length - 1)
  })

  it('calls every operation of the API but those that it leaves to others', async () => {
    const { given, proxy } = await connect()
    const path = join(tempFolder(finished), 'source.png')
    writeFileSync(path, redPixelPng)
    const hook = await world.newHook()
    const more = { path, hook: hook.url }
    const [status, ...secrets] = await python.run(
      kind,
      'return await every_operation(darkroom)',
      { ...given, ...more },
      everyOperation,
    )
    expect(status).toBe('expired')
    expect(uncalledOperations(proxy.seen)).toEqual([])
    const [received] = (await hook.waitFor(3)).slice(-1)
    if (received === undefined) throw new Error('nothing received')
    const unwrapped = `
      body, headers, unwrap = given["body"], given["headers"], darkroom.webhooks.unwrap
      events = [unwrap(body, headers, secret)["type"] for secret in given["secrets"]]
      signed = darkroom.webhooks.sign(body, given["secrets"][0])
      os.environ["DARKROOM_WEBHOOK_SECRET"] = given["secrets"][0]
      assert unwrap(body.encode(), signed)["type"] == events[0]
      async def forged():
          unwrap(body + " ", headers)
      async def late():
          unwrap(body, darkroom.webhooks.sign(body, given["secrets"][0], at=time.time() - 301))
      return [events, [(await failure(each))["code"] for each in (forged, late)]]`
    const { body } = received
    const delivery = { ...given, secrets, body, headers: headersOf(received) }
    expect(await python.run(kind, unwrapped, delivery)).toEqual([
      ['webhook.test', 'webhook.test'],
      ['invalid_signature', 'invalid_signature'],
    ])
  })
})

describe.concurrent('the client of Python', () => {
  it('03 repeats what may pass, and nothing else', async () => {
    const faults: readonly (readonly [fault: Fault, tries: number])[] = [
      [{ status: 429 }, 2],
      [{ status: 500 }, 2],
      [{ status: 504, body: '<html>' }, 2],
      ['lose', 2],
      ['truncate', 2],
      [{ status: 200, body: '<html>' }, 2],
      [{ status: 200, body: '{"ok":true}' }, 2],
      [{ status: 200, headers: { 'content-encoding': 'gzip' }, body: 'no gzip' }, 2],
      [{ status: 500, headers: { 'x-should-retry': 'false' } }, 1],
      [{ status: 408 }, 1],
      [{ status: 409 }, 1],
      // A repeat would not come before the deadline.
      [{ status: 429, headers: { 'retry-after': '3600' } }, 1],
    ]
    const { secret } = await service.account()
    const proxies = await Promise.all(
      faults.map(([fault]) => startFaultProxy(service.url, firstPosts(fault), finished)),
    )
    const lines = `
      made = []
      for url in given["urls"]:
          create = client(url, timeout_ms=60_000).tasks.create
          made.append(await failure(lambda: create(model=given["model"], action="generate", prompt="python 3")) is None)
      return made`
    const given = { url: service.url, secret, model, urls: proxies.map(({ url }) => url) }
    const made = await python.run('Darkroom', lines, given)
    expect(proxies.map(({ seen }) => seen.length)).toEqual(faults.map(([, tries]) => tries))
    expect(made).toEqual(faults.map(([, tries]) => tries === 2))
    expect((await bought({ url: service.url, secret })).tasks).toBe(8)
  })

  it('03 does not repeat after a lost answer what would do a second thing', async () => {
    const { given, proxy } = await connect(firstPosts('lose'))
    const lines = `
      error = await failure(lambda: darkroom.webhooks.create(url="https://example.com/"))
      return [error["code"], len([each async for each in client(given["direct"]).webhooks.list()])]`
    expect(await python.run('AsyncDarkroom', lines, given)).toEqual(['connection_failed', 1])
    expect(proxy.seen.length).toBe(1)
  })

  it('03 has deleted a webhook that is gone after a lost answer', async () => {
    const { given } = await connect(({ method }, number) =>
      method === 'DELETE' && number === 1 ? 'lose' : undefined,
    )
    const lines = `
      hook = (await darkroom.webhooks.create(url="https://example.com/"))["webhook_id"]
      await darkroom.webhooks.delete(hook)
      return (await failure(lambda: darkroom.webhooks.delete(hook)))["code"]`
    expect(await python.run('AsyncDarkroom', lines, given)).toBe('webhook_not_found')
  })

  it('22 refuses a source image that is no file, and reads within the deadline', async () => {
    const lines = `
      edit = lambda images, **more: darkroom.images.edit(model="m", prompt="p", images=images, **more)
      png = base64.b64decode(given["png"])
      wrong = await failure(lambda: edit(["/dev/null"]))
      class SlowPng(io.BytesIO):
          def read(self, size):
              time.sleep(0.3)
              return super().read(size)
      late = await failure(lambda: edit([SlowPng(png)], timeout_ms=200))
      return [wrong["message"], late["code"]]`
    const { given, posts } = await connect()
    const png = redPixelPng.toString('base64')
    const seen = await python.run('AsyncDarkroom', lines, { ...given, png })
    expect(seen).toEqual(['images[0] is no file.', 'timeout'])
    expect(posts().length).toBe(0)
  })

  it('04 obeys Retry-After in full, by the clock of the answer when it is a date', async () => {
    const longAgo = (seconds: number) => new Date(1e12 + seconds * 1_000).toUTCString()
    const { given, posts } = await connect(
      firstPosts(
        { status: 429, headers: { 'retry-after': '1' } },
        { status: 503, headers: { date: longAgo(0), 'retry-after': longAgo(1) } },
      ),
    )
    const lines = `
      began = time.monotonic()
      await darkroom.tasks.create(model=given["model"], action="generate", prompt="python 4")
      return time.monotonic() - began`
    expect(await python.run('Darkroom', lines, given)).toBeGreaterThan(1.99)
    expect(posts().length).toBe(3)
  })

  it('14 stops waiting when an asyncio task is cancelled, and another waits on by the id', async () => {
    const { given, bought } = await connect()
    const lines = `
      seen = []
      prompt = "python 14 [sim:delay ms=1000]"
      making = asyncio.create_task(
          darkroom.images.generate(model=given["model"], prompt=prompt, on_progress=seen.append))
      while not seen:
          await asyncio.sleep(0.01)
      making.cancel()
      await asyncio.wait([making])
      return [making.cancelled(), (await darkroom.tasks.wait(seen[0]["task_id"]))["status"]]`
    expect(await python.run('AsyncDarkroom', lines, given)).toEqual([true, 'succeeded'])
    expect(await bought()).toEqual(once)
  })

  it('buys an image once when the API is restarted while it waits', async ({ onTestFinished }) => {
    const { secret } = await service.account()
    const PORT = String(await freePort())
    const first = await service.startApi({ PORT })
    const prompt = 'python restarted [sim:hold]'
    // Its pauses are as they are: the next API takes a while to start.
    const lines = `
      random.random = lambda: 0.9
      image = await darkroom.images.generate(model=given["model"], prompt=given["prompt"])
      return (await image.bytes())[1:4].decode()`
    const making = python.run('AsyncDarkroom', lines, { url: first.url, secret, model, prompt })
    await service.simulator.waitForCalls(1, { prompt })
    await first.stop(0)
    const next = await service.startApi({ PORT })
    onTestFinished(() => next.stop())
    await service.simulator.release({ prompt })
    expect(await making).toBe('PNG')
    expect(await bought({ url: service.url, secret })).toEqual(once)
  })

  it('15 follows to the end and no further, and splits events at empty lines alone', async () => {
    const record = { task_id: 'task_1', status: 'failed', error: { message: 'one\u2028two' } }
    const begun = { ...record, status: 'processing' }
    const { url, count } = await listenAnswering((response) => {
      response.write(`id: 1\r\ndata: ${JSON.stringify(begun)}\r\n\r\n`)
      response.write(`id: 2\rdata: ${JSON.stringify(record)}\r\r`)
      setTimeout(() => response.write(': still here\n\n'), 100)
    }, finished)
    const lines = 'return [record async for record in darkroom.tasks.follow("task_1")]'
    const given = { url, secret: 'key' }
    expect(await python.run('AsyncDarkroom', lines, given)).toEqual([begun, record])
    expect(count()).toBe(1)
  })

  it('10 gives a large image over a slow line more time than another answer', async () => {
    const slow = await listen((_request, response) => {
      response.write(redPixelPng.subarray(0, 8))
      setTimeout(() => response.end(redPixelPng.subarray(8)), 1_000)
    }, finished)
    const lines = `
      darkroom_client._core.calls._ANSWER_SECONDS_MAX = 0.3
      record = {"task_id": "task_1", "status": "succeeded", "output": {"assets": [{"url": given["url"]}]}}
      # The answer of the model has the whole image in it.
      result = await failure(lambda: client(retries_max=0).tasks.result("task_1"))
      return [len(await client(retries_max=0).images.of(record).bytes()), result["code"]]`
    const given = { url: slow, secret: 'key' }
    const read = [redPixelPng.length, 'answer_not_read']
    expect(await python.run('AsyncDarkroom', lines, given)).toEqual(read)
  })

  it('23 gives the key to the service alone, and never to where a redirect or an image leads', async () => {
    const seen: (string | undefined)[] = []
    const stranger = await listenAnswering((response, request) => {
      seen.push(request.headers.authorization)
      response.end(redPixelPng)
    }, finished)
    const { given, proxy } = await connect(() => ({
      status: 307,
      headers: { location: stranger.url },
    }))
    const lines = `
      error = await failure(darkroom.account.get)
      record = {"task_id": "task_1", "status": "succeeded", "output": {"assets": [{"url": given["stranger"]}]}}
      await darkroom.images.of(record).bytes()
      return error["code"]`
    const more = { ...given, stranger: stranger.url }
    expect(await python.run('Darkroom', lines, more)).toBe('redirected')
    expect(seen).toEqual([undefined])
    expect(proxy.seen[0]?.headers['user-agent']).toMatch(
      /^darkroom-client-python\/[\d.]+ python\/3/,
    )
  })
})
