import { once } from 'node:events'
import {
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { link } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import sharp from 'sharp'
import { describe, expect, it, vi } from 'vitest'
import { Darkroom } from '../../clients/typescript/src/darkroom.ts'
import { createPurchases } from '../../clients/typescript/src/mcp/purchases.ts'
import { useMcp } from '../support/clients/mcpServer.ts'
import { redPixelPng } from '../support/images.ts'
import { calmService } from '../support/service/calmService.ts'
import { issueTestKey } from '../support/service/testAccount.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { until } from '../support/timing.ts'
import { listen } from '../support/upstream/testServers.ts'

vi.mock('node:fs/promises', { spy: true })

const service = await calmService()
const { finished, connectStdio, connectHttp, startHttp } = useMcp()

/** The variables of a server, whose files are in a folder of its own. */
function environmentOf(secret: string) {
  const folder = tempFolder(finished)
  return {
    folder,
    environment: {
      DARKROOM_URL: service.url,
      DARKROOM_API_KEY: secret,
      DARKROOM_STATE_DIR: join(folder, 'state'),
      DARKROOM_OUTPUT_DIR: join(folder, 'images'),
    },
  }
}

/** An MCP server over stdio for a new account, and what the account has bought. */
async function connect(more: Readonly<Record<string, string>> = {}, credits?: number) {
  const { secret, accountId } = await service.account(credits)
  const { folder, environment } = environmentOf(secret)
  const darkroom = new Darkroom({ baseUrl: service.url, apiKey: secret })
  return {
    ...(await connectStdio({ ...environment, ...more })),
    environment,
    folder,
    secret,
    accountId,
    darkroom,
    tasks: async () => (await Array.fromAsync(darkroom.tasks.list())).length,
    spent: async () => (await darkroom.account.get()).credits.spent,
  }
}

const model = 'familyb-image-2-vip'

// Each waits for a server of its own to start.
describe.concurrent('an agent', () => {
  it.each(['legacy', 'auto'] as const)(
    'speaks the protocol of 2025 or that of 2026: %s',
    async (mode) => {
      const { secret } = await service.account()
      const { environment } = environmentOf(secret)
      for (const { call } of [
        await connectStdio(environment, mode),
        await connectHttp(await startHttp(environment), secret, mode),
      ])
        expect((await call('get_account')).fields).toMatchObject({ spent: 0 })
    },
  )

  it('sees five tools with schemas, annotations and prices, and how many credits are left', async () => {
    const { client, call } = await connect({}, 500)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'generate_image',
      'edit_image',
      'get_task',
      'list_models',
      'get_account',
    ])
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint).length).toBe(3)
    expect(tools.every(({ inputSchema, outputSchema }) => inputSchema && outputSchema)).toBe(true)
    expect(tools[0]?.description).toContain('budget')
    expect((await call('list_models')).text).toMatch(
      /familyb-image-2-vip: .*sizes 1024x1024 .*3840x2160 low \d+/,
    )
    expect((await call('get_account')).fields).toMatchObject({ available: 500, spent: 0 })
  })

  it('gets an image as text, link, file and fields, and a preview only on wish', async () => {
    const { call, spent } = await connect()
    const given = { model, prompt: 'mcp one', size: '1024x1024' }
    const { text, link, preview, fields } = await call('generate_image', given)
    const { task_id, path, url, credits_charged } = fields
    expect(text).toContain(`${String(task_id)} is done and cost ${String(credits_charged)} credits`)
    expect([link, preview]).toEqual([url, undefined])
    const bytes = Buffer.from(await (await fetch(String(url))).arrayBuffer())
    expect(readFileSync(String(path))).toEqual(bytes)
    expect(await spent()).toBe(credits_charged)
    const small = await call('get_task', { task_id, preview: true })
    expect(small.preview?.length).toBeLessThanOrEqual(256 * 1_024)
    expect((await sharp(small.preview).metadata()).format).toBe('jpeg')
  })

  it('edits by path, by bytes and by the task of an earlier image', async () => {
    const { call, folder } = await connect()
    const { fields } = await call('generate_image', { model, prompt: 'mcp first' })
    const path = join(folder, 'source.png')
    writeFileSync(path, redPixelPng)
    const data = redPixelPng.toString('base64')
    const prompt = 'mcp edit'
    const images = [{ path }, { data, mime_type: 'image/png' }, { task_id: fields['task_id'] }]
    const edited = await call('edit_image', { model, prompt, images })
    expect(edited.fields).toMatchObject({ status: 'succeeded' })
    const [seen] = await service.simulator.calls({ prompt })
    expect(seen?.images.length).toBe(3)
    const wrong = await call('edit_image', { model, prompt, images: [{ path: '/none.png' }] })
    expect([wrong.isError, wrong.text]).toEqual([true, expect.stringContaining('ENOENT')])
    const device = await call('edit_image', { model, prompt, images: [{ path: '/dev/null' }] })
    expect(device.text).toContain('images[0] is no file')
  })

  it('is told of a long image in time, with progress, and asks for it', async () => {
    const { call, tasks } = await connect({ DARKROOM_ANSWER_SECONDS: '4' })
    const prompt = 'mcp long [sim:hold]'
    const progress: number[] = []
    const slow = 'familya-3.1-flash-lite-image'
    const queued = await call(
      'generate_image',
      { model: slow, prompt },
      { onprogress: (each) => void progress.push(each.progress) },
    )
    expect(queued.text).toContain('Ask get_task')
    expect(progress.length).toBeGreaterThan(1)
    expect(progress).toEqual([...new Set(progress)].toSorted((a, b) => a - b))
    const { task_id } = queued.fields
    expect((await call('get_task', { task_id })).fields).toMatchObject({ status: 'processing' })
    await service.simulator.release({ prompt })
    const done = await until('the image', async () => {
      const { fields } = await call('get_task', { task_id })
      return fields['status'] === 'succeeded' ? fields : undefined
    })
    expect(done).toMatchObject({ task_id })
    expect(await tasks()).toBe(1)
  })

  it.each(['a client that gave up', 'a server that was killed'])(
    'buys nothing twice after %s: the same arguments are the same task',
    async (fault) => {
      const first = await connect()
      const prompt = `mcp again, ${fault} [sim:hold]`
      const given = { model, prompt }
      const leaving = new AbortController()
      const { signal } = leaving
      const lost = first.call('generate_image', given, { signal }).catch(() => 'lost')
      await service.simulator.waitForCalls(1, { prompt })
      if (fault.includes('killed')) process.kill(first.pid(), 'SIGKILL')
      else leaving.abort()
      expect(await lost).toBe('lost')
      const second = fault.includes('killed') ? await connectStdio(first.environment) : first
      const again = [second.call('generate_image', given), second.call('generate_image', given)]
      await service.simulator.release({ prompt })
      const ids = (await Promise.all(again)).map(({ fields }) => fields['task_id'])
      expect(new Set(ids).size).toBe(1)
      expect(await first.tasks()).toBe(1)
      // For ten minutes after the answer too. Another variation is another image.
      expect((await second.call('generate_image', given)).fields['task_id']).toBe(ids[0])
      const other = await second.call('generate_image', { model, prompt: 'mcp other' })
      const variation = { model, prompt: 'mcp other', variation: 2 }
      expect((await second.call('generate_image', variation)).fields['task_id']).not.toBe(
        other.fields['task_id'],
      )
      expect(await first.tasks()).toBe(3)
    },
  )

  it('makes another image of the same arguments ten minutes after the answer', async () => {
    const { call, environment, tasks } = await connect()
    const given = { model, prompt: 'mcp later' }
    const { fields } = await call('generate_image', given)
    const [name = ''] = readdirSync(environment.DARKROOM_STATE_DIR)
    const file = join(environment.DARKROOM_STATE_DIR, name)
    const kept = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...kept, answeredAtMs: kept.answeredAtMs - 600_001 }))
    expect((await call('generate_image', given)).fields['task_id']).not.toBe(fields['task_id'])
    expect(await tasks()).toBe(2)
  })

  it('keeps digests and ids alone, which nobody else may read', async () => {
    const { call, environment, secret } = await connect()
    await call('generate_image', { model, prompt: 'mcp kept words' })
    const [name = ''] = readdirSync(environment.DARKROOM_STATE_DIR)
    const file = join(environment.DARKROOM_STATE_DIR, name)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const kept = readFileSync(file, 'utf8')
    expect(kept).not.toMatch(/kept words/)
    expect(kept + name).not.toContain(secret)
    expect(Object.keys(JSON.parse(kept))).toEqual(['salt', 'number', 'taskId', 'answeredAtMs'])
  })

  it('gets the address of an image in time that can neither be written nor be shown', async () => {
    const url = await listen((request, response) => {
      const record = { task_id: 'task_1', status: 'completed', progress: 100 }
      const asset = { type: 'image', url: `${url}/image?`, mime_type: 'image/png' }
      const text = JSON.stringify({ ...record, output: { assets: [asset] } })
      if (request.url?.endsWith('/events') === true) response.write(`data: ${text}\n\n`)
      // The image itself stalls.
      else if (request.url === '/v1/tasks/task_1') response.end(text)
    }, finished)
    const { environment } = environmentOf('key')
    const more = { DARKROOM_URL: url, DARKROOM_ANSWER_SECONDS: '3' }
    const { call } = await connectStdio({ ...environment, ...more })
    const given = { task_id: 'task_1', preview: true }
    const { isError, link, text, fields } = await call('get_task', given)
    expect([isError, link, fields['status']]).toEqual([false, `${url}/image?`, 'completed'])
    expect(text).toMatch(/It was not written to .*It has no preview now/)
  })

  it('is told in words of a refused prompt, of no credits, of a budget and of an unknown task', async () => {
    const { call, accountId, environment, spent } = await connect({}, 5)
    const poor = await call('generate_image', { model, prompt: 'mcp poor' })
    expect(poor).toMatchObject({ isError: true })
    expect(poor.text).toMatch(/insufficient_user_quota.*owner of the API key/)
    const [id = '', pepper = ''] = (service.environment['KEY_PEPPER'] ?? '').split(':')
    const budget = { credits: 1, period: 'day' } as const
    const limited = await issueTestKey(service.pool, accountId, { id, secret: pepper }, { budget })
    const other = await connectStdio({ ...environment, DARKROOM_API_KEY: limited.secret })
    expect((await other.call('generate_image', { model, prompt: 'mcp budget' })).text).toMatch(
      /budget/i,
    )
    const unknown = await call('get_task', { task_id: `task_${'0'.repeat(32)}` })
    expect([unknown.isError, unknown.text]).toEqual([true, expect.stringContaining('not_found')])
    const rich = await connect()
    const refused = await rich.call('generate_image', { model, prompt: 'mcp [sim:moderation]' })
    expect(refused.text).toContain('content_policy_violation')
    // A task without an image is over: the same arguments are another one.
    await rich.call('generate_image', { model, prompt: 'mcp [sim:moderation]' })
    expect([await rich.tasks(), await rich.spent(), await spent()]).toEqual([2, 0, 0])
  })

  it('may call over HTTP with its own key, without paths, and only as this machine', async () => {
    const { secret } = await service.account()
    const url = await startHttp(environmentOf('never sent').environment)
    const { call } = await connectHttp(url, secret)
    const { fields } = await call('generate_image', { model, prompt: 'mcp http' })
    expect(fields).toMatchObject({ status: 'succeeded' })
    expect(fields).not.toHaveProperty('path')
    const images = [{ path: '/etc/hostname' }]
    expect((await call('edit_image', { model, prompt: 'x', images })).isError).toBe(true)
    const stranger = (await service.account()).secret
    const { task_id } = fields
    expect((await (await connectHttp(url, stranger)).call('get_task', { task_id })).isError).toBe(
      true,
    )
    const post = async (headers: Record<string, string>) =>
      (await fetch(url, { method: 'POST', headers, body: '{}' })).status
    expect(await post({})).toBe(401)
    const authorization = `Bearer ${secret}`
    expect(await post({ authorization, origin: 'https://elsewhere.example' })).toBe(403)
    const headers = { authorization, host: 'rebound.example' }
    const rebound = request(url, { method: 'POST', headers }).end('{}')
    const [answer] = await once(rebound, 'response')
    expect(Object(answer).statusCode).toBe(403)
  })
})

describe('what is kept of a purchase', () => {
  const submit = vi.fn<(key: string) => Promise<string>>(async () => 'task_1')

  it.each<readonly [string, (file: string) => void]>([
    ['is no file', (file) => mkdirSync(file)],
    ['is damaged', (file) => writeFileSync(file, '')],
    ['cannot be made', (file) => symlinkSync('/none/none', file)],
  ])('buys nothing when it %s, and stops no other purchase', async (_name, spoil) => {
    const folder = tempFolder()
    spoil(join(folder, 'spoiled.json'))
    submit.mockClear()
    const purchases = createPurchases(folder)
    await expect(purchases.taskOf('spoiled', submit)).rejects.toThrow(/spoiled|EISDIR/)
    expect(submit).not.toHaveBeenCalled()
    await purchases.taskOf('whole', submit)
    await purchases.answered('task_1', { hasImage: true })
    expect(readFileSync(join(folder, 'whole.json'), 'utf8')).toContain('answeredAtMs')
  })

  it('has one key for calls at the same time, also without hard links', async () => {
    vi.mocked(link).mockRejectedValue(Object.assign(new Error('none'), { code: 'EPERM' }))
    submit.mockClear()
    const folder = tempFolder()
    const calls = [1, 2, 3].map(() => createPurchases(folder).taskOf('a', submit))
    // One that comes while the file is written fails, and buys nothing.
    await Promise.allSettled(calls)
    vi.mocked(link).mockRestore()
    await createPurchases(folder).taskOf('a', submit)
    expect(new Set(submit.mock.calls.map(([key]) => key)).size).toBe(1)
  })

  it('is the key before it is the task: what cannot be kept afterwards is bought all the same', async () => {
    const folder = tempFolder()
    const bought = createPurchases(folder).taskOf('a', async () => {
      rmSync(folder, { recursive: true })
      return 'task_1'
    })
    expect(await bought).toBe('task_1')
  })
})
