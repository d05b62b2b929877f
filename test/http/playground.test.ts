import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { collect } from '../support/byteStreams.ts'
import { errorResponse } from '../support/clients/responses.ts'
import { useTestApi } from '../support/http/testApi.ts'
import { tempFolder } from '../support/tempFolder.ts'

const web = new URL('../../src/web/', import.meta.url)
const names = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter(
  (name) => /^(?:playground|shared)\/.*(?<!\.html)$/.test(name) && name.includes('.'),
)
const libraries = ['preact.js', 'hooks.js', 'htm.js', 'html.js'].map(
  (name) => `shared/library/${name}`,
)

const api = useTestApi()
const engineFile = join(tempFolder(afterAll), 'engine')
const started = useTestApi({ engineFile })

/** Asks without an API key, and does not decode the answer. */
async function ask(path: string, headers: Record<string, string> = {}) {
  const answer = await new Promise<IncomingMessage>((resolve) => {
    request(`${api.url}${path}`, { headers }, resolve).end()
  })
  return { status: answer.statusCode, headers: answer.headers, body: await collect(answer) }
}

describe('the playground', () => {
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

  it('asks how far a build is only where `npm start` builds', async () => {
    expect((await ask('/')).body.toString()).not.toContain('playground/engine')
    expect((await ask('/playground/engine')).status).toBe(404)
    const read = async (path: string) => (await fetch(`${started.url}${path}`)).text()
    expect(await read('/')).toContain('<meta name="engine" content="playground/engine" />')
    expect(await read('/playground/engine')).toBe('')
    writeFileSync(engineFile, 'Building: 1 of 2')
    expect(await read('/playground/engine')).toBe('Building: 1 of 2')
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
    '/playground/%2e%2e%2fapi.ts',
  ])('serves nothing else: %s', async (path) => {
    const { status, body } = await ask(path)
    expect(status).toBe(404)
    expect(errorResponse.parse(JSON.parse(body.toString())).error.code).toBe('not_found')
  })
})
