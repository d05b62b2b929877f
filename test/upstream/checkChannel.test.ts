import { describe, expect, it } from 'vitest'
import type { Channel } from '../../src/domain/upstream/channel.ts'
import { badKeyReply } from '../../src/dev/simulator/errorReplies.ts'
import { checkChannel } from '../../src/upstream/checkChannel.ts'
import { testChannel } from '../support/database/testAttempts.ts'
import { listen, listenAnswering, listenRaw } from '../support/upstream/testServers.ts'

const secret = 'upstream-credential'

/** Checks a channel whose upstream answers with this status, and returns the result with the requests. */
async function checkAnswered(status: number, body = '', given: Partial<Channel> = {}) {
  const requests: string[] = []
  const url = await listen((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers['content-length'] ?? ''}`)
    response.writeHead(status, { location: '/elsewhere' }).end(body)
  })
  const checked = await checkChannel(testChannel({ baseUrl: url, ...given }))
  expect(requests).toHaveLength(1)
  return { ...checked, request: requests[0]?.trim() }
}

describe('a check of a channel', () => {
  it('is one GET with the credential, and without a body', async () => {
    const checked = await checkAnswered(200, '{}', { query: { 'api-version': '1' } })
    expect(checked).toMatchObject({
      result: 'accepted',
      request: 'GET /models?api-version=1',
      header: 'authorization',
      httpStatus: 200,
    })
    expect(JSON.stringify(checked)).not.toContain(secret)
  })

  it.each([
    [401, '', 'refused'],
    [403, '{"error":{"message":"no","code":"forbidden"}}', 'refused'],
    [400, badKeyReply('gemini').body.toString(), 'refused'],
    [400, '', 'unclear'],
    [404, '', 'not_checked'],
    [405, '', 'not_checked'],
    [503, '<html>', 'unclear'],
  ])('takes %i %s as %s', async (status, body, result) => {
    expect(await checkAnswered(status, body)).toMatchObject({ result, httpStatus: status })
  })

  it('reports a closed port', async () => {
    const server = await listenRaw(() => {})
    const baseUrl = `http://${server.replace(/\d+$/, '1')}`
    const checked = await checkChannel(testChannel({ baseUrl }))
    expect(checked).toMatchObject({ result: 'unreachable', reason: 'ECONNREFUSED' })
  })

  it('ends after five seconds when the upstream answers nothing, or sends an error that does not end', async () => {
    const silent = await listenRaw(() => {})
    const endless = await listenRaw(
      (socket) => void socket.write('HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\n{'),
    )
    const startedAtMs = performance.now()
    const checks = await Promise.all(
      [silent, endless].map((server) => checkChannel(testChannel({ baseUrl: `http://${server}` }))),
    )
    expect(checks.map(({ result }) => result)).toEqual(['unreachable', 'unclear'])
    expect(performance.now() - startedAtMs).toBeLessThan(6_000)
  })

  it('sends nothing without a credential', async () => {
    const { url, count } = await listenAnswering((response) => response.end())
    const channel = testChannel({ baseUrl: url, apiKey: '' })
    expect((await checkChannel(channel)).result).toBe('no_credential')
    expect((await checkChannel({ ...channel, apiKeyFile: '/nowhere' })).result).toBe(
      'no_credential',
    )
    expect(count()).toBe(0)
  })
})
