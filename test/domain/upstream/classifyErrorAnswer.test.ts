import { check, constantFrom, integer, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defined } from '../../../src/domain/defined.ts'
import type { ErrorAnswer, VendorError } from '../../../src/domain/upstream/classifyErrorAnswer.ts'
import {
  classifyErrorAnswer,
  promptRefusalMsMax,
} from '../../../src/domain/upstream/classifyErrorAnswer.ts'

function answer(status: number, error?: Partial<VendorError>, elapsedMs = 50): ErrorAnswer {
  const vendor = error && { codes: [], quotaIds: [], message: '', ...defined(error) }
  return { status, elapsedMs, ...defined({ error: vendor }) }
}

/** A 403 with a message, and an answer with codes of the vendor. */
const says = (message: string) => answer(403, { message })
const codes = (status: number, ...given: readonly string[]) => answer(status, { codes: given })

const free = (status: number, elapsedMs: number, error?: Partial<VendorError>) => ({
  ...answer(status, error, elapsedMs),
  errorsAreFree: true,
})

const policy = 'This request is against our rules for this region of topics.'
const minute = 'GenerateRequestsPerMinutePerProjectPerModel'
const day = 'GenerateRequestsPerDayPerProjectPerModel-FreeTier'

// The answers in test/upstream/outcomes.test.ts and test/tasks/vendorAnswers.test.ts have their classes there.
const rows: readonly (readonly [title: string, ErrorAnswer, string])[] = [
  ['403 about the request', says(policy), 'declined forbidden'],
  ['403 of moderation', codes(403, 'content_policy_violation'), 'rejected content_policy'],
  ['400 of Azure’s filter', codes(400, 'contentfilter'), 'rejected content_policy'],
  ['403 for a missing role', codes(403, 'iam_permission_denied'), 'operator_fault forbidden'],
  ['403 whose message names the key', says('Your API key was leaked.'), 'declined forbidden'],
  [
    '403 about content',
    says("This violates your organization's content policy."),
    'rejected content_policy',
  ],
  [
    '403 that quotes a prompt',
    says('The prompt "a poster for my project" is not allowed.'),
    'declined forbidden',
  ],
  [
    '403 whose code names the project, and whose message mentions a policy',
    answer(403, { codes: ['project_denied'], message: 'This violates our policies.' }),
    'operator_fault forbidden',
  ],
  ['429 without the vendor’s envelope', answer(429), 'refused rate_limited'],
  ['429 for the minute', answer(429, { quotaIds: [minute] }), 'refused rate_limited'],
  ['429 for the day', answer(429, { quotaIds: [day] }), 'exhausted quota_exhausted'],
  [
    '429 for a spend cap',
    answer(429, { message: 'You exceeded your monthly spending cap.' }),
    'exhausted quota_exhausted',
  ],
  [
    '429 with advice about billing',
    answer(429, { message: 'Check your plan and billing.' }),
    'refused rate_limited',
  ],
  ['credential words in a 400', codes(400, 'api_key_invalid'), 'operator_fault credential'],
  ['503 at the last moment', answer(503, {}, promptRefusalMsMax), 'refused overloaded'],
  ['503 too late', answer(503, {}, promptRefusalMsMax + 1), 'unknown server_error'],
  ['503 without the vendor’s envelope', answer(503), 'unknown server_error'],
  ['500 with exhausted words', codes(500, 'insufficient_quota'), 'unknown server_error'],
  ['204', answer(204), 'unknown unexpected_status'],
  ['401 whatever it says', codes(401, 'insufficient_quota'), 'operator_fault credential'],
  ['401 of a proxy', answer(401), 'operator_fault credential'],
  ['404 of a proxy', answer(404), 'operator_fault model_not_found'],
  ['model_not_found in a 400', codes(400, 'model_not_found'), 'operator_fault model_not_found'],
  ['422 of a proxy', answer(422), 'unknown unexpected_status'],
  [
    '400 whose message quotes a key',
    answer(400, { message: 'The prompt "API_KEY_INVALID, project suspended" is not valid.' }),
    'rejected invalid_request',
  ],
  ['free 500, however late', free(500, 90_000, {}), 'refused server_error'],
  ['free late 503', free(503, 90_000, {}), 'refused server_error'],
  ['free 500 of a proxy', free(500, 50), 'unknown server_error'],
  ['free 408', free(408, 50, {}), 'unknown unexpected_status'],
  ['200 with a moderation code', codes(200, 'moderation_blocked'), 'rejected content_policy'],
  ['200 with a quota code', codes(200, 'insufficient_quota'), 'exhausted quota_exhausted'],
  ['200 with the status 429', answer(200, { status: 429 }), 'refused rate_limited'],
  ['200 with the status 503', free(200, 50, { status: 503 }), 'unknown unexpected_status'],
  ['200 with a code of 400', codes(200, 'invalid_request_error'), 'rejected invalid_request'],
  ['200 with an unknown code', codes(200, 'odd'), 'unknown unexpected_status'],
  ['408', answer(408, {}), 'unknown unexpected_status'],
]

describe('the class of an upstream answer', () => {
  it.each(rows)('of %s', (_title, seen, verdict) => {
    expect(verdictOf(seen)).toBe(verdict)
  })
})

/** What a client may write into a prompt that a message then quotes. */
const quoted = [
  'API key not valid, API_KEY_INVALID',
  'project suspended, CONSUMER_SUSPENDED, billing disabled',
  'model_not_found: the model does not exist',
  'PUP_LIMITED_DISABLED',
  'try again in 900s',
  'violates our usage policies',
  'credits are depleted',
]

it('a message, which may quote a client, keeps no channel from others', () => {
  const bars = (seen: ErrorAnswer) => /^(?:operator_fault|refused)/.test(verdictOf(seen))
  const same = property(integer({ min: 200, max: 599 }), constantFrom(...quoted), (...given) => {
    const [status, message] = given
    return !bars(answer(status, { message })) || bars(answer(status, {}))
  })
  expect(check(same, { numRuns: 5_000 }).failed).toBe(false)
})

function verdictOf(seen: ErrorAnswer): string {
  const found = classifyErrorAnswer(seen)
  return `${found.class} ${found.reason}`
}
