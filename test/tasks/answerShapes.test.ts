import { expect, it } from 'vitest'
import type { Family } from '../../src/domain/models/models.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { paddedPng, redPixelPng } from '../support/images.ts'
import type { Answer } from '../support/upstream/vendorWorld.ts'
import { openAi, playTask } from '../support/upstream/vendorWorld.ts'

// The shapes in which vendors and relays were seen to send a picture (November 2026), each with what a task makes of it: how
// many calls, their classes, the picture and the charge. Each answer is repeated as often as it is asked for.

const world = useAttemptWorld()

const picture = redPixelPng
const draft = paddedPng(600, 1)
const [data, draftData] = [picture.toString('base64'), draft.toString('base64')]

const json = (value: unknown): Answer => ({ status: 200, body: JSON.stringify(value) })
const images = (value: object): Answer => json({ created: 1, ...value })
const parts = (...given: readonly object[]): Answer =>
  json({ candidates: [{ content: { role: 'model', parts: given }, finishReason: 'STOP' }] })
const part = (base64: string) => ({ inlineData: { mimeType: 'image/png', data: base64 } })
const thought = (base64: string) => ({ ...part(base64), thought: true })
const event = (name: string, fields: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...fields })}\n\n`
const stream = (...events: readonly string[]): Answer => ({
  status: 200,
  body: events.join(''),
  headers: { 'content-type': 'text/event-stream' },
})
const partial = event('image_generation.partial_image', { b64_json: draftData })
const completed = event('image_generation.completed', { b64_json: data })

const delivered: readonly (readonly [source: string, family: Family, answer: Answer])[] = [
  ['the only picture is a thought, Lixpi#135', 'A', parts(thought(draftData), thought(data))],
  [
    'drafts without a mark, langchainjs#10180',
    'A',
    parts(part(draftData), part(draftData), part(data)),
  ],
  ['a draft and the picture, any-llm#1333', 'A', parts(thought(draftData), part(data))],
  ['a draft behind the picture', 'A', parts(part(data), thought(draftData))],
  ['a signature, bifrost#7357', 'A', parts({ ...part(data), thoughtSignature: 'c2ln' })],
  ['a signature of 5 MiB', 'A', parts({ ...part(data), thoughtSignature: 'x'.repeat(5 << 20) })],
  ['several pictures', 'B', images({ data: [{ b64_json: draftData }, { b64_json: data }] })],
  [
    'the bytes alone, xum#3286',
    'B',
    { status: 200, body: picture, headers: { 'content-type': 'image/png' } },
  ],
  [
    'the bytes alone',
    'A',
    { status: 200, body: picture, headers: { 'content-type': 'application/json' } },
  ],
  ['a data URL in `url`', 'B', images({ data: [{ url: `data:image/png;base64,${data}` }] })],
  ['a stream, new-api#4478', 'B', stream(partial, completed)],
  ['a stream of an edit', 'B', stream(event('image_edit.completed', { b64_json: data }))],
  ['`b64`', 'B', images({ data: [{ b64: data }] })],
  ['a flat `b64_json`', 'B', images({ b64_json: data })],
  ['`images[]`', 'B', images({ images: [{ url: data }] })],
  [
    'a list of one document, gemini-cli#25607',
    'A',
    {
      status: 200,
      body: `[{"candidates":[{"content":{"parts":[${JSON.stringify(part(data))}]},"finishReason":"STOP"}]}]`,
    },
  ],
  [
    'NaN',
    'B',
    { status: 200, body: `{"created":NaN,"data":[{"b64_json":"${data}","score":NaN}]}` },
  ],
  ['an error beside the picture', 'B', images({ data: [{ b64_json: data }], error: null })],
]

it.each(delivered)(
  'one call is made and charged for %s (family %s)',
  async (_source, family, answer) => {
    const played = await playTask(world, { family, one: [answer] })
    expect(played.outcomes).toEqual(['succeeded image'])
    expect(played.charge).toBe('settle')
    expect(Buffer.compare(played.image ?? Buffer.of(), picture)).toBe(0)
  },
)

const unknown = Array<string>(3).fill('unknown broken_body')
const policy = ['rejected content_policy']
const moderated = { code: 'moderation_blocked', message: 'No.' }

const refused: readonly (readonly [
  source: string,
  family: Family,
  answer: Answer,
  outcomes: readonly string[],
  end: string,
])[] = [
  [
    'a thought beside a cut picture',
    'A',
    parts(thought(draftData), part(data.slice(0, 40))),
    unknown,
    'upstream_error',
  ],
  [
    'a thought of a model that did not end well',
    'A',
    json({ candidates: [{ content: { parts: [thought(data)] }, finishReason: 'MAX_TOKENS' }] }),
    ['rejected no_image'],
    'no_image_generated',
  ],
  ['a partial picture and then nothing', 'B', stream(partial), unknown, 'upstream_error'],
  [
    'a partial picture and a cut one',
    'B',
    stream(partial, completed.slice(0, 90)),
    unknown,
    'upstream_error',
  ],
  [
    'a partial picture and an error',
    'B',
    stream(partial, event('error', { error: moderated })),
    policy,
    'content_policy_violation',
  ],
  [
    'an address, astrbot_plugin_image_generation#54',
    'B',
    images({ data: [{ url: 'http://127.0.0.1:9/1.png' }] }),
    unknown,
    'upstream_error',
  ],
  [
    'an address',
    'A',
    parts({ fileData: { mimeType: 'image/png', fileUri: 'http://127.0.0.1:9/1.png' } }),
    unknown,
    'upstream_error',
  ],
  [
    'a page with a picture',
    'B',
    { status: 200, body: `<html><img src="data:image/png;base64,${data}">` },
    unknown,
    'upstream_error',
  ],
  [
    'moderation as a success, sub2api#3381',
    'B',
    json({ error: moderated }),
    policy,
    'content_policy_violation',
  ],
  [
    'moderation as a success without a message',
    'A',
    json({ error: { code: 'moderation_blocked' } }),
    policy,
    'content_policy_violation',
  ],
  [
    'moderation as a success with no text as message',
    'B',
    json({ error: { ...moderated, message: null } }),
    policy,
    'content_policy_violation',
  ],
  [
    'moderation without a message',
    'B',
    { status: 400, body: JSON.stringify({ error: { ...moderated, message: null } }) },
    policy,
    'content_policy_violation',
  ],
  [
    'moderation as a success in full',
    'B',
    openAi(201, moderated),
    policy,
    'content_policy_violation',
  ],
]

it.each(refused)(
  'nothing is charged for %s (family %s)',
  async (_source, family, answer, outcomes, end) => {
    const played = await playTask(world, { family, one: [answer] })
    expect(played.outcomes).toEqual(outcomes)
    expect(played.calls).toHaveLength(outcomes.length)
    expect([played.end, played.charge]).toEqual([end, 'release'])
    expect(played.image).toBeUndefined()
  },
)

it.each([
  ['apim-request-id', { 'apim-request-id': 'azure-1', 'x-request-id': 'other' }, 'azure-1'],
  ['x-ms-request-id', { 'x-ms-request-id': 'azure-2' }, 'azure-2'],
  ["Google's responseId", {}, 'google-1'],
  ['cf-ray, where there is nothing better', { 'cf-ray': 'edge-1' }, 'google-1'],
])('an operator finds a task by %s', async (_name, headers, id) => {
  const document = { candidates: [{ finishReason: 'NO_IMAGE' }], responseId: 'google-1' }
  const answer = { status: 200, body: JSON.stringify(document), headers }
  const { taskId } = await playTask(world, { family: 'A', one: [answer] })
  const { rows } = await world.pool.query(
    'select upstream_request_id as id from attempt where task_id = $1',
    [taskId],
  )
  expect(rows).toEqual([{ id }])
})
