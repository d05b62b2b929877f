import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newTaskId } from '../../src/domain/ids.ts'
import { createClient } from '../support/clients/client.ts'
import { rawPost, sendRaw } from '../support/clients/rawCalls.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import type { CalmService } from '../support/service/calmService.ts'
import { calmService } from '../support/service/calmService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

let service: CalmService
let account: TestAccount
let taskId: string
let foreignId: string
beforeAll(async () => {
  // No worker: these tests only need accepted tasks.
  service = await calmService()
  account = await service.account()
  taskId = (await createClient(service.url, account.secret).accepted(generateBody())).task_id
  const other = createClient(service.url, (await service.account()).secret)
  foreignId = (await other.accepted(generateBody())).task_id
}, stackStartMsMax)

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

describe('a lookup', () => {
  it('returns the same answer on both paths [lookup-1, lookup-4]', async () => {
    const answers = await Promise.all(
      ['task', 'tasks'].map(async (segment) => seen(await ask(`/v1/${segment}/${taskId}`))),
    )
    expect(answers[0]).toEqual(answers[1])
    expect(JSON.parse(answers[0]?.body ?? '')).toEqual({
      task_id: taskId,
      model: 'familyb-image-2-vip',
      status: 'queued',
      created_at: expect.stringMatching(/Z$/),
      progress: 0,
    })
    expect(answers[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'retry-after': '3',
    })
  })

  it.each(['/v1/task/', '/v1/tasks/'])(
    'returns the same 404 for a task of another account and for an unknown task: %s [lookup-2]',
    async (prefix) => {
      const unknownId = newTaskId(randomBytes)
      for (const suffix of ['', '/result']) {
        const foreign = await seen(await ask(prefix + foreignId + suffix))
        expect(foreign).toEqual(await seen(await ask(prefix + unknownId + suffix)))
        expect(foreign.status).toBe(404)
        expect(JSON.parse(foreign.body)).toEqual({
          error: { code: 'task_not_found', message: expect.any(String) },
        })
      }
    },
  )

  it.each([
    'x',
    'task_',
    `task_${'a'.repeat(31)}`,
    `task_${'a'.repeat(33)}`,
    `task_${'-'.repeat(32)}`,
  ])('returns 400 in the short envelope for a malformed id: %s [lookup-3]', async (id) => {
    for (const path of [`/v1/tasks/${id}`, `/v1/task/${id}`, `/v1/tasks/${id}/result`]) {
      const answer = await ask(path)
      expect(answer.status).toBe(400)
      expect(await answer.json()).toEqual({
        error: { code: 'invalid_request', message: expect.any(String) },
      })
    }
  })

  it('returns 401 in the short envelope without a key [lookup-3, auth-1]', async () => {
    const answer = await fetch(`${service.url}/v1/tasks/${taskId}`)
    expect(answer.status).toBe(401)
    expect(await answer.json()).toEqual({
      error: { code: 'invalid_api_key', message: expect.any(String) },
    })
  })

  it('returns the headers of GET and no body for HEAD', async () => {
    const [head, get] = [
      await ask(`/v1/tasks/${taskId}`, { method: 'HEAD' }),
      await ask(`/v1/tasks/${taskId}`),
    ]
    expect(await head.text()).toBe('')
    expect(head.status).toBe(200)
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
  })
})

describe('authentication', () => {
  const bodyOf401 = {
    error: {
      message: expect.any(String),
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_api_key',
    },
  }

  it.each([
    ['no header', undefined, false],
    ['an unknown key', `Bearer sk-${'x'.repeat(48)}`, true],
    ['another scheme', 'Basic YTpi', true],
    ['a key without its scheme', 'sk-x', true],
    ['an empty token', 'Bearer ', true],
  ])(
    'returns 401 with a `WWW-Authenticate` header: %s [auth-2]',
    async (_what, authorization, tokenSent) => {
      for (const path of ['/v1/images/tasks', '/v1/images/generations', '/v1/images/edits']) {
        const headers = authorization === undefined ? {} : { authorization }
        const answer = await fetch(service.url + path, { method: 'POST', headers, body: 'x' })
        expect(answer.status).toBe(401)
        expect(answer.headers.get('www-authenticate')).toBe(
          `Bearer realm="darkroom"${tokenSent ? ', error="invalid_token"' : ''}`,
        )
        expect(await answer.json()).toEqual(bodyOf401)
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
})

describe('every answer', () => {
  const answers = () =>
    Promise.all([
      ask(`/v1/tasks/${taskId}`),
      ask('/v1/tasks/x'),
      ask('/nowhere'),
      ask('/v1/images/tasks', { method: 'DELETE' }),
      createClient(service.url, account.secret).submit(generateBody()),
      createClient(service.url, account.secret).submit('{'),
      createClient(service.url, 'sk-unknown').submit(generateBody()),
      fetch(`${service.url}/v1/assets/${taskId}/image.png`),
    ])

  it('has its own request id, is JSON and forbids caching [answer-1]', async () => {
    const all = await answers()
    const ids = all.map(({ headers }) => headers.get('x-request-id'))
    expect(new Set(ids).size).toBe(all.length)
    expect(ids.every((id) => /^req_\w{24}$/.test(id ?? ''))).toBe(true)
    for (const { headers } of all) {
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('access-control-allow-origin')).toBe('*')
    }
  })

  it.each([
    ['/v1/images/tasks', 'GET', 'POST, OPTIONS'],
    ['/v1/tasks/x', 'POST', 'GET, HEAD, OPTIONS'],
    ['/v1/task/x', 'DELETE', 'GET, HEAD, OPTIONS'],
  ])(
    'is 405 with the allowed methods for a wrong method: %s [error-405]',
    async (path, method, allow) => {
      const answer = await ask(path, { method })
      expect(answer.status).toBe(405)
      const allowed = (answer.headers.get('allow') ?? '').split(', ')
      expect(allowed.toSorted()).toEqual(allow.split(', ').toSorted())
      expect(await answer.json()).toMatchObject({ error: { code: 'method_not_allowed' } })
    },
  )

  it.each([
    '/v1',
    '/v1/images',
    '/v1/images/tasks/',
    '/V1/images/tasks',
    '/v1/task',
    '/index.html',
  ])('is 404 in the error envelope for an unknown route: %s [error-404]', async (path) => {
    const answer = await ask(path)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toEqual({
      error: {
        message: expect.any(String),
        type: 'invalid_request_error',
        param: null,
        code: 'not_found',
      },
    })
  })

  it('needs no key for a CORS preflight [answer-2]', async () => {
    const answer = await fetch(`${service.url}/v1/images/tasks`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://example.test',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, idempotency-key',
      },
    })
    expect(answer.status).toBe(204)
    expect(answer.headers.get('access-control-allow-headers')).toBe(
      'authorization, idempotency-key',
    )
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
  })
})
