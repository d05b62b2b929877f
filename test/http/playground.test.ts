import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { collect } from '../support/byteStreams.ts'
import { errorResponse } from '../support/clients/responses.ts'
import { startTestApi, useTestApi } from '../support/http/testApi.ts'

const web = new URL('../../src/web/', import.meta.url)
const names = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter(
  (name) => /^(?:playground|shared)\/.*(?<!\.html)$/.test(name) && name.includes('.'),
)
const libraries = ['preact.js', 'hooks.js', 'htm.js', 'html.js'].map(
  (name) => `shared/library/${name}`,
)

const api = useTestApi()

/** Asks without an API key, and does not decode the answer. */
async function ask(path: string, headers: Record<string, string> = {}, url = api.url) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    readonly status: number
    readonly headers: Readonly<Record<string, unknown>>
    readonly body: Buffer
  }>()
  const sent = request(`${url}${path}`, { headers }, (answer) => {
    const { statusCode: status = 0, headers } = answer
    collect(answer).then((body) => resolve({ status, headers, body }), reject)
  })
  sent.on('error', reject).end()
  return promise
}

describe('the playground', () => {
  it('is a page at the root that needs no API key, confined to its own origin', async () => {
    const { status, headers, body } = await ask('/')
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(body.toString()).toContain('<title>Darkroom</title>')
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toMatch(/script-src 'self' 'sha256-[A-Za-z0-9+/]{43}='/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers['referrer-policy']).toBe('no-referrer')
  })

  it('serves its files as they are in the repository, compressed where the client can read it', async () => {
    for (const name of [...libraries, ...names]) {
      const { status, body, headers } = await ask(`/${name}`)
      expect(headers).not.toHaveProperty('content-encoding')
      const zipped = await ask(`/${name}`, { 'Accept-Encoding': 'gzip, br' })
      expect(zipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: expect.anything() })
      expect(gunzipSync(zipped.body)).toEqual(body)
      const text = names.includes(name) ? readFileSync(new URL(name, web)) : body
      expect([name, status, body.equals(text)]).toEqual([name, 200, true])
    }
  })

  it('answers 304 while a file is the same', async () => {
    const etag = String((await ask('/playground/app.js')).headers['etag'])
    const again = await ask('/playground/app.js', { 'If-None-Match': etag })
    expect([again.status, again.body.byteLength]).toEqual([304, 0])
    expect((await ask('/playground/app.js', { 'If-None-Match': '"other"' })).status).toBe(200)
  })

  it.each([
    '/playground/',
    '/playground/index.html',
    '/console/app.js',
    '/playground/none.js',
    '/playground/%2e%2e%2fapi.ts',
    '/playground',
  ])('serves nothing else: %s', async (path) => {
    const { status, body } = await ask(path)
    expect(status).toBe(404)
    expect(errorResponse.parse(JSON.parse(body.toString())).error.code).toBe('not_found')
  })
})

it.each(['/', '/playground/app.js', '/shared/base.css'])(
  'PUBLIC_PAGES=off hides %s like any unknown path',
  async (path) => {
    const hidden = await startTestApi({ publicPages: false })
    const { status, headers, body } = await ask(path, {}, hidden.url)
    const posted = await fetch(`${hidden.url}${path}`, { method: 'POST' })
    await hidden.close()
    expect(status).toBe(404)
    expect(headers['content-type']).toBe('application/json')
    expect(headers).not.toHaveProperty('content-security-policy')
    const { error } = errorResponse.parse(JSON.parse(body.toString()))
    expect(error).toMatchObject({ code: 'not_found', message: `Invalid URL (GET ${path})` })
    expect(posted.status).toBe(404)
  },
)
