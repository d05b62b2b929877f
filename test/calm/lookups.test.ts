import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { newTaskId } from '../../src/domain/ids.ts'
import { readConfig } from '../../src/config/environment.ts'
import { createClient, errorOf } from '../support/clients/client.ts'
import { rawPost, sendRaw } from '../support/clients/rawCalls.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import * as call from '../support/clients/syncCalls.ts'
import { balanceOf } from '../support/database/money.ts'
import { rowCountOf } from '../support/database/testAccept.ts'
import { calmService } from '../support/service/calmService.ts'

const service = await calmService()
const account = await service.account()
const taskId = (await createClient(service.url, account.secret).accepted(generateBody())).task_id
const other = createClient(service.url, (await service.account()).secret)
const foreignId = (await other.accepted(generateBody())).task_id

/** Sends the key of the account unless `init` has another. */
function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (!headers.has('authorization')) headers.set('authorization', `Bearer ${account.secret}`)
  return fetch(service.url + path, { ...init, headers })
}

/** Status, body and headers, except the headers that differ between any two answers. */
async function seen(answer: Response) {
  const headers = Object.fromEntries(answer.headers)
  delete headers['x-request-id']
  delete headers['date']
  return { status: answer.status, headers, body: await answer.text() }
}

const message = expect.any(String)

describe('a lookup', () => {
  it.each(['/v1/task/', '/v1/tasks/'])(
    'returns the same 404 for a task of another account and for an unknown task: %s [lookup-2]',
    async (prefix) => {
      const unknownId = newTaskId()
      for (const suffix of ['', '/result']) {
        const foreign = await seen(await ask(prefix + foreignId + suffix))
        expect(foreign).toEqual(await seen(await ask(prefix + unknownId + suffix)))
        expect(foreign.status).toBe(404)
        expect(JSON.parse(foreign.body)).toEqual({ error: { code: 'task_not_found', message } })
      }
    },
  )

  it.each(['x', `task_${'a'.repeat(33)}`, `task_${'-'.repeat(32)}`])(
    'returns 400 in the short envelope for a malformed id: %s [lookup-3]',
    async (id) => {
      for (const path of [`/v1/tasks/${id}`, `/v1/task/${id}`, `/v1/tasks/${id}/result`]) {
        const answer = await ask(path)
        expect(answer.status).toBe(400)
        expect(await answer.json()).toEqual({ error: { code: 'invalid_request', message } })
      }
    },
  )

  it('returns 401 in the short envelope without a key [lookup-3, auth-1]', async () => {
    const answer = await fetch(`${service.url}/v1/tasks/${taskId}`)
    expect(answer.status).toBe(401)
    expect(await answer.json()).toEqual({ error: { code: 'invalid_api_key', message } })
  })

  it('returns the headers of GET and no body for HEAD', async () => {
    await createClient(service.url, account.secret).ended(taskId)
    const head = await ask(`/v1/tasks/${taskId}`, { method: 'HEAD' })
    const get = await ask(`/v1/tasks/${taskId}`)
    expect(await head.text()).toBe('')
    expect(head.status).toBe(200)
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
  })
})

/** Every route that makes a task. */
const makingRoutes = [
  '/v1/images/tasks',
  '/v1/images/generations',
  '/v1/images/edits',
  '/v1beta/models/familya-3-pro-image:generateContent',
  '/v1beta/models/familya-3-pro-image:asyncGenerateContent',
]

describe('authentication', () => {
  it.each([
    ['no header [auth-2]', undefined, false],
    ['an unknown key [auth-2]', `Bearer sk-${'x'.repeat(48)}`, true],
    ['another scheme', 'Basic YTpi', true],
    ['a key without its scheme', 'sk-x', true],
    ['an empty token', 'Bearer ', true],
  ])(
    'returns 401 with a `WWW-Authenticate` header on every route that makes a task: %s [auth-1]',
    async (_what, authorization, tokenSent) => {
      for (const path of makingRoutes) {
        const headers = authorization === undefined ? {} : { authorization }
        const answer = await fetch(service.url + path, { method: 'POST', headers, body: 'x' })
        expect([path, answer.status]).toEqual([path, 401])
        expect(answer.headers.get('www-authenticate')).toBe(
          `Bearer realm="darkroom"${tokenSent ? ', error="invalid_token"' : ''}`,
        )
        const [type, code] = ['invalid_request_error', 'invalid_api_key']
        expect(await errorOf(answer)).toEqual({ message, type, param: null, code })
      }
    },
  )

  it('accepts no key from the URL or from two `Authorization` headers [auth-5]', async () => {
    const byQuery = await fetch(`${service.url}/v1/tasks/${taskId}?key=${account.secret}`)
    expect(byQuery.status).toBe(401)
    const header = `Authorization: Bearer ${account.secret}`
    const twice = rawPost('/v1/images/tasks', [header, header], generateBody())
    expect(await sendRaw(service.url, twice)).toMatch(/^HTTP\/1.1 401 /)
  })

  it.each([
    ['revoked', 'revoked_at = now()'],
    ['expired', 'expires_at = now()'],
  ])('returns 401 for a key that is %s [auth-2]', async (_what, change) => {
    const { keyId, secret } = await service.account()
    const send = () => createClient(service.url, secret).submit(generateBody())
    expect((await send()).status).toBe(202)
    await service.pool.query(`update api_key set ${change} where key_id = $1`, [keyId])
    expect((await send()).status).toBe(401)
  })

  it('returns 403 on every route that makes a task when the balance is too small, and holds nothing [auth-3]', async () => {
    const { accountId, secret } = await service.account(5)
    const by = createClient(service.url, secret)
    const contents = { contents: [{ parts: [{ text: 'x' }] }] }
    const answers = [
      await by.submit(generateBody()),
      await call.generate(by, { prompt: 'x' }),
      await call.edit(by, { prompt: 'x' }),
      await call.content(by, 'generateContent', contents),
      await call.content(by, 'asyncGenerateContent', contents),
    ]
    for (const answer of answers) {
      expect(answer.status).toBe(403)
      const code = 'insufficient_user_quota'
      expect(await errorOf(answer)).toEqual({ message, type: 'new_api_error', param: '', code })
    }
    expect(await rowCountOf(service.pool, 'task', accountId)).toBe(0)
    expect(await balanceOf(service.pool, accountId)).toMatchObject({ available: 5, held: 0 })
  })

  it('returns 403 for a model that the account may not use [auth-4]', async () => {
    const { accountId, secret } = await service.account()
    const update = 'update account set models = $2 where account_id = $1'
    await service.pool.query(update, [accountId, ['familyb-image-2-web']])
    const answer = await createClient(service.url, secret).submit(generateBody())
    expect(answer.status).toBe(403)
    expect(await errorOf(answer)).toMatchObject({ type: 'new_api_error', code: 'access_denied' })
  })
})

it('/healthz of each process says its version', async () => {
  const { url, adminUrl, internalUrls, workerUrl } = service
  for (const at of [url, adminUrl, ...internalUrls, workerUrl]) {
    const answer = await fetch(`${at}/healthz`)
    expect(await answer.json()).toEqual({ status: 'ok', version: manifest.version })
  }
})

describe('/readyz', () => {
  it('shows each part on the internal port and none on the public one', async () => {
    const parts = { database: 'ok', schema: 'ok', blob_store: 'ok' }
    const all = { ...parts, temporal: 'ok', search_attributes: 'ok' }
    const shown = async (url: string) => {
      const answer = await fetch(`${url}/readyz`)
      return [answer.status, await answer.json()]
    }
    expect(await shown(service.url)).toEqual([200, { status: 'ready' }])
    expect(await shown(service.internalUrls[0])).toEqual([
      200,
      { status: 'ready', parts: { ...all, process: 'ok' } },
    ])
    expect(await shown(service.workerUrl)).toEqual([
      200,
      { status: 'ready', parts: { ...all, process: 'ok', polling: 'ok' } },
    ])
  })
})

it.each(['url', 'adminUrl'] as const)(
  'an idle connection outlives the longest silent answer, as one to %s says',
  async (at) => {
    const answer = await fetch(`${service[at]}/healthz`)
    const [, seconds] = /^timeout=(\d+)$/.exec(answer.headers.get('keep-alive') ?? '') ?? []
    expect(Number(seconds)).toBe(readConfig({}).syncDeadlineSeconds + 60)
  },
)
