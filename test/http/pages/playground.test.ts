import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  inputImageBytesMax,
  inputImagesBytesMax,
  inputImagesMax,
} from '../../../src/domain/limits.ts'
import { errorResponse } from '../../support/clients/responses.ts'
import { startTestApi, useTestApi } from '../../support/http/testApi.ts'

const folder = new URL('../../../src/web/playground/', import.meta.url)
const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.includes('.'),
)
const libraries = ['preact.js', 'hooks.js', 'htm.js', 'html.js'].map((name) => `library/${name}`)

const api = useTestApi()

/** Asks without an API key, and does not decode the answer. */
async function ask(path: string, headers: Record<string, string> = {}, url = api.url) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const sent = request(`${url}${path}`, { headers }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const { statusCode: status = 0, headers } = answer
          resolve({ status, headers, body: Buffer.concat(chunks) })
        })
      })
      sent.on('error', reject)
      sent.end()
    },
  )
}

describe('the playground', () => {
  it('is a page at the root that needs no API key [pages-3]', async () => {
    const { status, headers, body } = await ask('/')
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(body.toString()).toContain('<title>Darkroom</title>')
  })

  it.each([...libraries, ...names])('serves %s compressed', async (name) => {
    const [plain, zipped, brotli] = await Promise.all(
      ['identity', 'gzip', 'gzip, br'].map((coding) =>
        ask(`/playground/${name}`, { 'Accept-Encoding': coding }),
      ),
    )
    const text = plain?.body ?? Buffer.alloc(0)
    expect(plain?.headers).not.toHaveProperty('content-encoding')
    expect(zipped?.headers).toMatchObject({ 'content-encoding': 'gzip', vary: expect.anything() })
    expect(gunzipSync(zipped?.body ?? '')).toEqual(text)
    expect(brotli?.headers).toMatchObject({ 'content-encoding': 'br' })
    expect(brotliDecompressSync(brotli?.body ?? '')).toEqual(text)
  })

  it('serves its files as they are in the repository', async () => {
    const served = await Promise.all(names.map((name) => ask(`/playground/${name}`)))
    const kept = names.map((name) => readFileSync(new URL(name, folder)))
    expect(served.map(({ body }) => body)).toEqual(kept)
  })

  it('answers 304 while a file is the same, per coding', async () => {
    const first = await ask('/playground/app.js', { 'Accept-Encoding': 'gzip' })
    const etag = String(first.headers['etag'])
    const again = await ask('/playground/app.js', {
      'Accept-Encoding': 'gzip',
      'If-None-Match': etag,
    })
    expect([again.status, again.body.byteLength]).toEqual([304, 0])
    const plain = await ask('/playground/app.js', { 'If-None-Match': etag })
    expect(plain.status).toBe(200)
  })

  it('confines the page to its own origin, without inline scripts or styles [pages-5]', async () => {
    const { headers } = await ask('/')
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toMatch(/script-src 'self' 'sha256-[A-Za-z0-9+/]{43}='/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers['referrer-policy']).toBe('no-referrer')
  })

  it.each(['/playground/', '/playground/none.js', '/playground/%2e%2e%2fapi.ts', '/playground'])(
    'serves nothing else: %s',
    async (path) => {
      const { status, body } = await ask(path)
      expect(status).toBe(404)
      expect(errorResponse.parse(JSON.parse(body.toString())).error.code).toBe('not_found')
    },
  )

  it('knows the limits of the API for source images', async () => {
    const limits = readFileSync(new URL('form/sourceImages.js', folder), 'utf8')
    expect(limits).toContain(`sourceImagesMax = ${inputImagesMax}\n`)
    expect(limits).toContain(`sourceBytesMax = ${inputImageBytesMax / 1024 / 1024} * mebibyte\n`)
    expect(limits).toContain(
      `allSourcesBytesMax = ${inputImagesBytesMax / 1024 / 1024} * mebibyte\n`,
    )
  })
})

describe('PUBLIC_PAGES=off', () => {
  it.each(['/', '/playground/app.js'])('hides %s like any unknown path [pages-6]', async (path) => {
    const hidden = await startTestApi({ publicPages: false })
    try {
      const { status, headers, body } = await ask(path, {}, hidden.url)
      expect(status).toBe(404)
      expect(headers['content-type']).toBe('application/json')
      expect(headers).not.toHaveProperty('content-security-policy')
      expect(errorResponse.parse(JSON.parse(body.toString())).error).toMatchObject({
        code: 'not_found',
        message: `Invalid URL (GET ${path})`,
      })
      const posted = await fetch(`${hidden.url}${path}`, { method: 'POST' })
      expect(posted.status).toBe(404)
    } finally {
      await hidden.close()
    }
  })
})
