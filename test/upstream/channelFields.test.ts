import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { Channel } from '../../src/domain/upstream/channel.ts'
import { collect } from '../support/byteStreams.ts'
import { redPixelPng } from '../support/images.ts'
import type { CallOptions } from '../support/upstream/upstreamWorld.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'
import { goodAnswer, listen } from '../support/upstream/testServers.ts'
import { checkChannel } from '../../src/upstream/checkChannel.ts'
import { testChannel } from '../support/database/testAttempts.ts'

type Seen = { readonly headers: IncomingHttpHeaders; readonly body: string }

/** Starts an upstream that keeps what it gets, and returns the function that makes one call on a channel there. */
async function openWatched() {
  const seen: Seen[] = []
  const world = await openUpstreamWorld()
  const url = await listen((request, response) => {
    const keep = async () => {
      const bytes = await collect(request)
      seen.push({ headers: request.headers, body: bytes.toString('latin1') })
      response.end(goodAnswer)
    }
    void keep()
  })
  const send = async (
    channel: Partial<Channel>,
    { action = 'generate', ...call }: CallOptions['call'] & { action?: 'generate' | 'edit' } = {},
  ): Promise<Seen> => {
    const inputs = action === 'edit' ? [await world.storeInput(redPixelPng, 'image/png')] : []
    await world.call(url, channel.family ?? 'B', { channel, request: { action, inputs }, call })
    const last = seen.at(-1)
    if (last === undefined) throw new Error('nothing was sent')
    return last
  }
  return { send, url, seen }
}

describe('fixed headers of a channel', () => {
  const headers = { 'OpenAI-Project': 'proj_1', 'x-goog-user-project': 'billing' }

  it.each(['A', 'B'] as const)('are sent with each call of family %s', async (family) => {
    const { send } = await openWatched()
    const sent = await send({ family, headers })
    expect(sent.headers).toMatchObject({
      'openai-project': 'proj_1',
      'x-goog-user-project': 'billing',
      accept: 'application/json',
      'user-agent': 'darkroom',
      'idempotency-key': 'attempt-1',
    })
  })

  it('are sent with the free call of a check too', async () => {
    const { url, seen } = await openWatched()
    await checkChannel(testChannel({ baseUrl: url, headers }))
    expect(seen[0]?.headers).toMatchObject({ 'openai-project': 'proj_1' })
  })
})

describe('fixed fields of a channel', () => {
  const extraFields = { response_format: 'b64_json', moderation: 'low', seed: 7, stream: false }

  it('stand in the JSON of a generation, beside the own fields', async () => {
    const { send } = await openWatched()
    const { body } = await send({ extraFields })
    expect(JSON.parse(body)).toEqual({
      ...extraFields,
      model: 'familyb-image-2-vip',
      prompt: 'A lighthouse at dusk',
      n: 1,
      output_format: 'png',
    })
  })

  it('stand in the form of an edit as text', async () => {
    const { send } = await openWatched()
    const { body } = await send({ extraFields }, { action: 'edit' })
    for (const [name, value] of Object.entries(extraFields)) {
      expect(body).toContain(`form-data; name="${name}"\r\n\r\n${value}\r\n`)
    }
  })

  it('stand in the document of family A', async () => {
    const { send } = await openWatched()
    const { body } = await send({ family: 'A', extraFields: { serviceTier: 'flex' } })
    const document: unknown = JSON.parse(body)
    expect(document).toMatchObject({ serviceTier: 'flex', contents: expect.any(Array) })
  })
})

describe('safetyIdentifier of a channel', () => {
  const identifierOf = ({ body }: Seen) =>
    /name="safety_identifier"\r\n\r\n(\S+)\r\n|"safety_identifier":"(\S+?)"/.exec(body)?.slice(1)

  it('sends one digest of the account with each call, which is not the account', async () => {
    const { send } = await openWatched()
    const channel = { safetyIdentifier: true }
    const generated = identifierOf(await send(channel, { accountId: 'acct_a' }))?.[1]
    expect(generated).toMatch(/^[0-9a-f]{64}$/)
    const edited = await send(channel, { accountId: 'acct_a', action: 'edit' })
    expect(identifierOf(edited)?.[0]).toBe(generated)
    const other = identifierOf(await send(channel, { accountId: 'acct_b' }))?.[1]
    expect(other).not.toBe(generated)
    expect(edited.body).not.toContain('acct_a')
  })

  it('is not sent where the file does not ask for it', async () => {
    const { send } = await openWatched()
    expect(identifierOf(await send({}))).toBeUndefined()
  })
})
