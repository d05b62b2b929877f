import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { adminRoutes } from '../../src/admin/operatorRoutes.ts'
import { collect } from '../support/byteStreams.ts'
import { errorResponse } from '../support/clients/responses.ts'
import { adminSecrets, createAdminClient } from '../support/service/adminClient.ts'
import { unknownIds } from '../support/unknownIds.ts'
import { calmService } from '../support/service/calmService.ts'

const { adminUrl: url } = await calmService()
const boss = createAdminClient(url)
const guest = createAdminClient(url, adminSecrets.guest)

const keyed = adminRoutes
  .filter(({ access }) => access !== 'open')
  .map(({ method, path, access }) => ({
    method,
    access,
    path: path
      .replace('{n}', '1')
      .replaceAll(/\{(\w+)\}/g, (_, name: string) => unknownIds[name] ?? `no_${name}`),
  }))
const contents = keyed.filter(({ path }) => /\/(?:request|image)/.test(path))
const changes = keyed.filter(({ method }) => method !== 'GET')

function refusalOf({ status, json }: Awaited<ReturnType<typeof boss.send>>): readonly unknown[] {
  const { code, param } = errorResponse.parse(json).error
  return [status, code, param]
}

/** Sends a request with headers that `fetch` does not let through. Returns the status and the code of the error. */
async function askAs(path: string, headers: Record<string, string>) {
  const sent = request(`${url}${path}`, { headers }).end()
  const [answer]: IncomingMessage[] = await once(sent, 'response')
  if (answer === undefined) throw new Error('no answer')
  const body = (await collect(answer)).toString()
  const isJson = answer.headers['content-type'] === 'application/json'
  return [answer.statusCode, isJson ? Object(JSON.parse(body)).error?.code : undefined]
}

describe('a key', () => {
  it('is needed on every route, and a wrong one is refused in the same way', async () => {
    expect(keyed.length).toBeGreaterThan(20)
    for (const { method, path } of keyed) {
      for (const Authorization of ['', 'Bearer wrong-key-of-an-operator', 'Basic Ym9zczo=']) {
        const answer = await boss.send(method, path, undefined, { Authorization })
        expect([path, ...refusalOf(answer)]).toEqual([path, 401, 'invalid_api_key', null])
        expect(answer.headers.get('cache-control')).toBe('no-store')
        expect(answer.headers.get('access-control-allow-origin')).toBeNull()
      }
    }
  })

  it('of an account is no key of an operator', async () => {
    const account = await (await calmService()).account()
    const session = await createAdminClient(url, account.secret).get('/admin/v1/session')
    expect(refusalOf(session)).toEqual([401, 'invalid_api_key', null])
  })

  it('of a viewer reads, changes nothing and sees no prompt and no image', async () => {
    expect((await guest.get('/admin/v1/session')).json).toEqual({ key_id: 'guest', role: 'viewer' })
    expect((await guest.get('/admin/v1/accounts')).status).toBe(200)
    expect(contents).toHaveLength(3)
    for (const { method, path } of [...changes, ...contents]) {
      const answer = await guest.send(method, path)
      expect([path, ...refusalOf(answer)]).toEqual([path, 403, 'access_denied', ''])
    }
  })

  it('in an address counts for nothing', async () => {
    const answer = await boss.get(`/admin/v1/session?key=${adminSecrets.boss}`, {
      Authorization: '',
    })
    expect(answer.status).toBe(401)
  })
})

describe('a request', () => {
  const Authorization = `Bearer ${adminSecrets.boss}`
  const port = new URL(url).port
  const paths = ['/', '/console/app.js', '/admin/v1/session', '/admin/openapi.json', '/none']

  it('for another host is refused, so that no page can rebind its name to this machine', async () => {
    for (const host of [`evil.example:${port}`, 'evil.example', '127.0.0.1.evil.example']) {
      for (const path of paths) {
        const answer = await askAs(path, { Authorization, Host: host })
        expect([host, path, ...answer]).toEqual([host, path, 403, 'access_denied'])
      }
    }
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      expect(await askAs('/admin/v1/session', { Authorization, Host: host })).toEqual([
        200,
        undefined,
      ])
    }
    expect(await askAs('/healthz', { Host: 'probe.example' })).toEqual([200, undefined])
    expect(await askAs('/readyz', { Host: 'probe.example' })).toEqual([200, undefined])
  })

  it('of a page of another origin is refused, also of another port of this machine', async () => {
    const foreign = ['https://evil.example', 'null', 'http://127.0.0.1:1', `https://evil:${port}`]
    for (const origin of foreign) {
      const answer = await askAs('/admin/v1/session', { Authorization, Origin: origin })
      expect([origin, ...answer]).toEqual([origin, 403, 'access_denied'])
    }
    expect(await askAs('/admin/v1/session', { Authorization, Origin: url })).toEqual([
      200,
      undefined,
    ])
  })

  it('may name nothing that its route does not have', async () => {
    for (const { method, path } of keyed) {
      const answer = await boss.send(method, `${path}?colour=red`)
      expect([path, ...refusalOf(answer)]).toEqual([path, 400, 'unknown_parameter', 'colour'])
    }
    for (const { method, path } of changes) {
      const answer = await boss.send(method, path, { colour: 'red' })
      const [status, code] = refusalOf(answer)
      expect([path, status]).toEqual([path, 400])
      expect(['unknown_parameter', 'missing_required_parameter']).toContain(code)
    }
  })

  it('with an unknown method or path gets the envelope too', async () => {
    expect(refusalOf(await boss.send('PUT', '/admin/v1/accounts'))[0]).toBe(405)
    expect(refusalOf(await boss.get('/admin/v1/none'))).toEqual([404, 'not_found', null])
    const options = await boss.send('OPTIONS', '/admin/v1/keys/k')
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'PATCH, OPTIONS'])
  })
})

describe('the console', () => {
  it('is a page confined to its own origin, whose files need no key', async () => {
    const { status, headers, text } = await boss.get('/', { Authorization: '' })
    expect(status).toBe(200)
    expect(text).toContain('<title>Darkroom console</title>')
    const policy = String(headers.get('content-security-policy'))
    expect(policy).toContain("default-src 'none'")
    expect(policy).toMatch(/script-src 'self' 'sha256-[A-Za-z0-9+/]{43}='/)
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(text) ?? []
    expect((await boss.get(`/${script}`, { Authorization: '' })).status).toBe(200)
  })
})

it('no secret of an operator is in the logs', async () => {
  const { logs } = await calmService()
  const printed = logs()
  expect(printed).toContain('"keyId":"boss"')
  for (const secret of Object.values(adminSecrets)) expect(printed).not.toContain(secret)
})

it.each(['accounts', 'audit', 'channels', 'tasks', 'webhooks'])(
  'the list of %s does not go on after a row that it does not have',
  async (list) => {
    const answer = await boss.send('GET', `/admin/v1/${list}?limit=1&after=987654321`)
    expect(refusalOf(answer)).toEqual([400, 'invalid_value', 'after'])
  },
)
