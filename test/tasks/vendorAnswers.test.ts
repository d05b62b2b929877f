import { describe, expect, it } from 'vitest'
import type { Family } from '../../src/domain/models/models.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { listChannels } from '../../src/store/channels/channelAdmin.ts'
import type { Answer, Play, SeenCall } from '../support/upstream/vendorWorld.ts'
import { finished, google, openAi, page, playTask } from '../support/upstream/vendorWorld.ts'

// What vendors and relays were seen to answer (November 2026), each with what a task makes of it: the channels called, the
// class of each call, the end and the charge. Where an answer leads to a second channel, that one makes the image.

const world = useAttemptWorld()

const elsewhere = 'one two'
const image = 'succeeded image'
const policy = 'content_policy_violation'
const invalid = 'upstream_invalid_request'
const free = { channel: { errorsAreFree: true } }

type Row = readonly [source: string, family: Family, answer: Answer, more?: Partial<Play>]

/** The channels called, the class of each call, and the end, of all rows that follow. */
type Group = readonly [calls: string, outcomes: string, end: string, rows: readonly Row[]]

/** The first channel has this outcome, and the second makes the image. */
const movesOn = (outcome: string, rows: readonly Row[]): Group => [
  elsewhere,
  `${outcome}, ${image}`,
  'succeeded',
  rows,
]
const rejected = (reason: string, end: string, rows: readonly Row[]): Group => [
  'one',
  `rejected ${reason}`,
  end,
  rows,
]
/** An unknown outcome stays with its channel. */
const asksAgain = (outcome: string, rows: readonly Row[]): Group => [
  'one one',
  `${outcome}, ${image}`,
  'succeeded',
  rows,
]
const fails = (outcome: string, rows: readonly Row[]): Group => [
  'one one one',
  Array(3).fill(outcome).join(', '),
  'upstream_error',
  rows,
]

const moderated = { code: 'moderation_blocked', message: 'No.' }

const groups: readonly Group[] = [
  // A 403 that names no cause, and an edge that blocks
  movesOn('declined forbidden', [
    ['an organization that is not verified, openai-php/client#565', 'B', openAi(403)],
    [
      'a leaked key or a denied project without details, continue#10513',
      'A',
      google(403, 'PERMISSION_DENIED'),
    ],
    ['a firewall of Azure', 'B', openAi(403, { code: 'AccessDenied' })],
    ['an edge, CLIProxyAPI#3980', 'A', page(403)],
    ['an edge, CLIProxyAPI#3980', 'B', page(403)],
  ]),
  movesOn('declined too_large', [
    ['an edge with a limit for bodies', 'B', page(413)],
    ['an edge with a limit for headers', 'A', page(431)],
  ]),
  movesOn('declined model_not_found', [
    [
      'a 400 about the field of the model, CLIProxyAPI#3687',
      'B',
      openAi(400, { code: 'invalid_value', param: 'model' }),
    ],
  ]),
  movesOn('operator_fault model_not_found', [
    ['a model that the account does not have', 'B', openAi(403, { code: 'model_not_found' })],
    ['a retired model', 'A', google(404, 'NOT_FOUND')],
  ]),
  movesOn('operator_fault forbidden', [
    ['a suspended consumer', 'A', google(403, 'PERMISSION_DENIED', 'CONSUMER_SUSPENDED')],
    ['a country that is not served', 'A', google(400, 'FAILED_PRECONDITION')],
    ['a finish reason that limits the account', 'A', finished('PUP_LIMITED_DISABLED')],
  ]),
  movesOn('operator_fault credential', [
    ['a wrong key of Azure', 'B', openAi(401, { code: '401' })],
    [
      'a wrong key without an envelope',
      'B',
      { status: 401, body: '{"statusCode":401,"message":"Access denied"}' },
    ],
    ['a proxy that asks for a credential', 'A', page(407)],
  ]),
  movesOn('exhausted quota_exhausted', [
    [
      'a relay’s quota of one account, sub2api#2213',
      'B',
      openAi(403, { code: 'insufficient_user_quota' }),
    ],
    ...[
      'credit_balance_exhausted',
      'organization_spend_limit_exceeded',
      'project_spend_limit_exceeded',
      'organization_usage_limit_exceeded',
    ].map((code): Row => [
      `OpenAI’s ${code}`,
      'B',
      openAi(429, { type: 'insufficient_quota', code }),
    ]),
    [
      'OpenAI’s hard limit',
      'B',
      openAi(400, { type: 'billing_limit_user_error', code: 'billing_hard_limit_reached' }),
    ],
    ['Google’s prepaid credit', 'A', google(402, 'RESOURCE_EXHAUSTED')],
  ]),
  movesOn('refused rate_limited', [
    ['OpenAI’s rate limit', 'B', openAi(429, { type: 'requests', code: 'rate_limit_exceeded' })],
    ['OpenAI’s slow_down', 'B', openAi(429, { type: 'rate_limit_error', code: 'slow_down' })],
    ['Google’s rate limit', 'A', google(429, 'RESOURCE_EXHAUSTED')],
  ]),
  movesOn('refused overloaded', [
    [
      'an overloaded OpenAI',
      'B',
      openAi(503, { type: 'service_unavailable_error', code: 'server_is_overloaded' }),
    ],
    ['an overloaded Google', 'A', google(503, 'UNAVAILABLE')],
  ]),
  movesOn('refused server_error', [
    ['an error of Google that is free', 'A', google(500, 'INTERNAL'), free],
    ['Google’s late 504 that is free', 'A', google(504, 'DEADLINE_EXCEEDED'), free],
  ]),
  rejected('invalid_request', invalid, [
    [
      'a parameter that is not known, CLIProxyAPI#4228',
      'B',
      openAi(400, { code: 'unknown_parameter', param: 'size' }),
    ],
    [
      'input_fidelity for a model without it',
      'B',
      openAi(400, { code: 'invalid_input_fidelity_model' }),
    ],
    ['thinking for a model without it, AIStudioToAPI#213', 'A', google(400, 'INVALID_ARGUMENT')],
    ...[413, 415, 422, 424].map((status): Row => [
      `a ${status} of the vendor`,
      'B',
      openAi(status),
    ]),
  ]),
  rejected('content_policy', policy, [
    ['a relay’s 451', 'B', openAi(451)],
    [
      'OpenAI’s safety system',
      'B',
      openAi(400, { type: 'image_generation_user_error', code: 'moderation_blocked' }),
    ],
    ['dall-e’s and Azure’s code', 'B', openAi(400, { code: 'content_policy_violation' })],
    ['a moderation that a relay calls 502, sub2api#2399', 'B', openAi(502, moderated)],
    ['moderation without a message', 'B', json(400, { ...moderated, message: null })],
    ['moderation as a success, sub2api#3381', 'B', json(200, moderated)],
    [
      'moderation as a success with no text as message',
      'B',
      json(200, { ...moderated, message: null }),
    ],
    ['moderation as a success without a message', 'A', json(200, { code: 'moderation_blocked' })],
    ['moderation as a success in full', 'B', openAi(201, moderated)],
    [
      'Vertex’s responsible AI',
      'A',
      google(400, 'INVALID_ARGUMENT', undefined, {
        message: 'The prompt could not be submitted under our Responsible AI practices.',
      }),
    ],
    ...['MODEL_ARMOR', 'ESCALATION', 'LANGUAGE', 'IMAGE_PROHIBITED_CONTENT'].map((reason): Row => [
      `Google’s ${reason}`,
      'A',
      finished(reason),
    ]),
  ]),
  rejected('no_image', 'no_image_generated', [
    ['no image, litellm#40477', 'A', finished('NO_IMAGE')],
  ]),
  asksAgain('unknown server_error', [
    ['a gateway that gave up, cherry-studio#19991', 'B', page(504)],
    ['an HTML 500 of a channel whose errors are free', 'A', page(500), free],
  ]),
  fails('unknown unexpected_status', [
    ['an HTML page with 400', 'A', page(400)],
    ['a client that closed, 499', 'A', google(499, 'CANCELLED')],
  ]),
  fails('unknown server_error', [
    ['an error of Google while errors are not said to be free', 'A', google(500, 'INTERNAL')],
  ]),
]

/** An error, alone in its envelope. */
function json(status: number, error: object): Answer {
  return { status, body: JSON.stringify({ error }) }
}

describe('a task whose first channel answers with', () => {
  const titled = groups.flatMap(([calls, outcomes, end, rows]) =>
    rows.map((row) => [row[0], row[1], row, { calls, outcomes, end }] as const),
  )
  it.each(titled)('%s (family %s)', async (_source, family, row, { calls, outcomes, end }) => {
    const [, , answer, more = {}] = row
    const then = calls === 'one one' ? (['image'] as const) : []
    const played = await playTask(world, {
      family,
      one: [answer, ...then],
      two: ['image'],
      ...more,
    })
    expect(played.channelsCalled).toBe(calls)
    expect(played.outcomes.join(', ')).toBe(outcomes)
    expect(played.end).toBe(end)
    expect(played.charge).toBe(end === 'succeeded' ? 'settle' : 'release')
  })
})

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

describe('the second channel gets the whole request, files included, byte for byte (bifrost#6966)', () => {
  const cases = groups
    .filter(([calls]) => calls === elsewhere)
    .flatMap(([, outcomes, , rows]) => rows.map((row) => [row[1], outcomes, row[2]] as const))
    // One of each family for each outcome.
    .filter(([family, outcomes], at, all) => {
      const first = all.findIndex((one) => one[0] === family && one[1] === outcomes)
      return first === at
    })
  it.each(cases)('of family %s after %s', async (family, _outcomes, answer) => {
    const channel = { errorsAreFree: true }
    const play = { family, one: [answer], two: ['image'], action: 'edit', channel } as const
    const { calls, channelsCalled, end } = await playTask(world, play)
    expect([channelsCalled, end]).toEqual([elsewhere, 'succeeded'])
    const [first, second] = calls.map(withoutBoundary)
    expect(second?.equals(first ?? Buffer.of())).toBe(true)
    expect(second?.length).toBeGreaterThan(8_000)
  })
})

/** The boundary follows from the upstream key, which is another one on the second channel. */
function withoutBoundary({ headers, body }: SeenCall): Buffer {
  const [, boundary = '-'] = /boundary=(.+)/.exec(headers['content-type'] ?? '') ?? []
  return Buffer.from(body.toString('latin1').replaceAll(boundary, '-'), 'latin1')
}

describe('a decline', () => {
  it('ends a task only after four of every channel, with pauses of 30 s, 2 and 8 minutes, and bars nobody else', async () => {
    const one = [page(403)]
    const played = await playTask(world, { family: 'B', one, two: one })
    expect(played.channelsCalled).toBe('one two one two one two one two')
    expect(played.waits.filter((wait) => wait.startsWith('declined'))).toEqual(
      expect.arrayContaining(['declined 30', 'declined 120', 'declined 480']),
    )
    expect(played).toMatchObject({
      end: 'upstream_error',
      cause: 'operator_fault',
      charge: 'release',
    })
    expect(played.cooldown).toBeUndefined()
  })

  it('of ten seconds ends no queue: the task returns and gets its image', async () => {
    const one = [page(403), page(403), 'image'] as const
    const played = await playTask(world, { family: 'B', one })
    expect(played).toMatchObject({
      channelsCalled: 'one one one',
      end: 'succeeded',
      charge: 'settle',
    })
  })

  it('ends a synchronous task after one round', async () => {
    const one = [page(403)]
    const played = await playTask(world, { family: 'B', one, two: one, sync: true })
    expect(played).toMatchObject({
      channelsCalled: elsewhere,
      end: 'upstream_error',
      charge: 'release',
    })
  })

  it('of an edit with a model that only generates bars no generation', async () => {
    const one = [openAi(400, { code: 'invalid_value', param: 'model' })]
    const played = await playTask(world, { family: 'B', one, two: ['image'], action: 'edit' })
    expect(played.cooldown).toBeUndefined()
  })
})

describe('an expired credential', () => {
  const answers: readonly Answer[] = [
    openAi(401, { code: '401' }),
    { status: 401, body: '{"statusCode":401,"message":"Access denied due to invalid key."}' },
    openAi(401, { code: '', type: 'new_api_error' }),
  ]
  it.each(answers)(
    'that names nothing cools the channel down for every model: %j',
    async (answer) => {
      const played = await playTask(world, { family: 'B', one: [answer], two: ['image'] })
      expect(played.cooldown).toEqual({ model: '*', fault: true, seconds: 60 })
    },
  )

  it('is read from no message, which may quote a client', async () => {
    const message =
      'The prompt "API key not valid, project suspended, model_not_found" is not allowed.'
    const one = [openAi(403, { message })]
    const played = await playTask(world, { family: 'B', one, two: ['image'] })
    expect(played.outcomes).toEqual(['declined forbidden', image])
    expect(played.cooldown).toBeUndefined()
  })
})

describe('errors that are free', () => {
  it('at one prompt end its task after five, without a cooldown for others', async () => {
    const one = [google(500, 'INTERNAL')]
    const channel = { errorsAreFree: true }
    const played = await playTask(world, { family: 'A', one, channel })
    expect(played.outcomes).toEqual(Array(5).fill('refused server_error'))
    expect(played).toMatchObject({ end: 'upstream_error', charge: 'release' })
    expect(played.cooldown).toBeUndefined()
  })

  it('do not hide a prompt 503, which refuses the model', async () => {
    const channel = { errorsAreFree: true }
    const one = [google(503, 'UNAVAILABLE')]
    const played = await playTask(world, { family: 'A', one, two: ['image'], channel })
    expect(played.outcomes).toEqual(['refused overloaded', image])
    expect(played.cooldown).toMatchObject({ fault: false })
  })
})

describe('after an unknown outcome', () => {
  it.each(['A', 'B'] as const)(
    'the same bytes go under the same key, family %s',
    async (family) => {
      const play = { family, one: ['reset', page(502), 'image'], action: 'edit' } as const
      const { calls, end } = await playTask(world, play)
      expect(end).toBe('succeeded')
      expect(calls).toHaveLength(3)
      expect(new Set(calls.map(({ body }) => body.toString('latin1'))).size).toBe(1)
      expect(new Set(calls.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
      expect(new Set(calls.map(({ headers }) => headers['content-type'])).size).toBe(1)
    },
  )

  it('a 422 of a relay that compares bodies blames no client', async () => {
    const one = ['reset', openAi(422), 'image'] as const
    const played = await playTask(world, { family: 'B', one })
    expect(played.outcomes).toEqual(['unknown connection_lost', 'unknown invalid_request', image])
    expect(played.charge).toBe('settle')
  })

  it('moderation ends the task', async () => {
    const one = ['reset', openAi(400, { code: 'moderation_blocked' })] as const
    const played = await playTask(world, { family: 'B', one, two: ['image'] })
    expect(played).toMatchObject({ channelsCalled: 'one one', end: policy, charge: 'release' })
  })

  it.each([409, 425])('a %s does not use up the calls while the first may run', async (status) => {
    const running = openAi(status)
    const one = ['reset', running, running, 'image'] as const
    const played = await playTask(world, { family: 'B', one })
    expect(played.waits).toEqual(['backoff 1', 'backoff 15', 'backoff 15'])
    expect(played).toMatchObject({ end: 'succeeded', charge: 'settle' })
    expect(new Set(played.calls.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  })

  it('a 409 that lasts longer than the timeout of the first call counts', async () => {
    const played = await playTask(world, { family: 'B', one: ['reset', openAi(409)] })
    expect(played.end).toBe('upstream_error')
    // 40 s are asked three times; then two more calls count.
    expect(played.calls.length).toBeLessThanOrEqual(6)
    expect(played.waits.filter((wait) => wait === 'backoff 15')).toHaveLength(3)
  })
})

describe('a wait that stands only in the text of a 429 (sub2api#3052)', () => {
  it.each([
    ['Please try again in 12s.', 12],
    ['Please try again in 350ms.', 0.35],
    ['Rate limit for the prompt "try again in 900s".', 30],
  ])('%s', async (message, seconds) => {
    const one = [openAi(429, { code: 'rate_limit_exceeded', message })]
    const played = await playTask(world, { family: 'B', one, two: ['image'] })
    expect(played.cooldown).toMatchObject({ fault: false, seconds })
  })
})

it('`channel list` shows what a channel declines, by status and code within bounds, and no text of the vendor', async () => {
  const canary = 'a text that quotes the prompt'
  const one = [openAi(403, { code: canary, type: 'odd_type', message: canary })]
  const { taskId, names } = await playTask(world, { family: 'B', one, two: ['image'] })
  const { rows } = await world.pool.query<{ vendor_code: string; row: string }>(
    'select vendor_code, to_json(attempt)::text as row from attempt where task_id = $1 and n = 1',
    [taskId],
  )
  expect(rows[0]?.vendor_code).toBe('odd_type')
  expect(rows[0]?.row).not.toContain(canary)
  const page = await listChannels(world.pool, { limit: 1_000 })
  const listed = page === 'unknown_after' ? [] : page.data
  expect(listed.find(({ name }) => name === names[0])?.declined).toEqual([
    { http_status: 403, code: 'odd_type', calls: 1 },
  ])
})
