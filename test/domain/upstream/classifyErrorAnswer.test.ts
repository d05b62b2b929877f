import { describe, expect, it } from 'vitest'
import { defined } from '../../../src/domain/defined.ts'
import type { ErrorAnswer, VendorError } from '../../../src/domain/upstream/classifyErrorAnswer.ts'
import {
  classifyErrorAnswer,
  promptRefusalMsMax,
} from '../../../src/domain/upstream/classifyErrorAnswer.ts'

function answer(status: number, error?: Partial<VendorError>, elapsedMs = 50): ErrorAnswer {
  const vendor = error && { codes: [], quotaIds: [], message: '', ...error }
  return { status, elapsedMs, ...defined({ error: vendor }) }
}

const policy403 = { message: 'This request is against our rules for this region of topics.' }

const rows: readonly (readonly [title: string, ErrorAnswer, string])[] = [
  ['400 without the vendor’s envelope', answer(400), 'rejected invalid_request'],
  ['413 without the vendor’s envelope', answer(413), 'rejected invalid_request'],
  ['401 without the vendor’s envelope', answer(401), 'operator_fault credential'],
  ['402', answer(402), 'exhausted quota_exhausted'],
  ['403 without the vendor’s envelope', answer(403), 'unknown forbidden'],
  ['403 about the request', answer(403, policy403), 'rejected forbidden'],
  [
    '403 of moderation',
    answer(403, { codes: ['content_policy_violation'] }),
    'rejected content_policy',
  ],
  ['400 of Azure’s filter', answer(400, { codes: ['contentfilter'] }), 'rejected content_policy'],
  [
    '403 of Vertex AI for a missing role',
    answer(403, {
      codes: ['permission_denied', 'iam_permission_denied'],
      message: "Permission 'aiplatform.endpoints.predict' denied on resource '//x/projects/y'.",
    }),
    'operator_fault forbidden',
  ],
  [
    '403 naming the key',
    answer(403, { message: 'Your API key was reported as leaked.' }),
    'operator_fault forbidden',
  ],
  [
    '403 naming the project',
    answer(403, { message: 'Your project has been denied access.' }),
    'operator_fault forbidden',
  ],
  [
    '403 naming the organization',
    answer(403, { message: 'Your organization must be verified to use the model.' }),
    'operator_fault forbidden',
  ],
  [
    '403 about content that names the organization',
    answer(403, { message: "This prompt violates your organization's content policy." }),
    'rejected content_policy',
  ],
  [
    '403 that quotes a prompt with the word project',
    answer(403, { message: 'The prompt "a poster for my project" is not allowed here.' }),
    'rejected forbidden',
  ],
  [
    '403 that quotes a prompt with quotation marks in it',
    answer(403, { message: "Not allowed: 'say 'hi' to my 'project' and API key' in this region." }),
    'rejected forbidden',
  ],
  [
    '403 that quotes the start of a prompt',
    answer(403, { message: 'Not allowed: “a poster for my project and its credentials...' }),
    'rejected forbidden',
  ],
  [
    '403 that quotes the start of a prompt with marks of another kind in it',
    answer(403, { message: `Not allowed: "a 'red' project and its credentials` }),
    'rejected forbidden',
  ],
  [
    '403 that quotes the start of a prompt with marks of the same kind in it',
    answer(403, { message: 'Not allowed: "a "red" project and its credentials' }),
    'rejected forbidden',
  ],
  [
    '403 that quotes a prompt up to the middle of a quotation in it',
    answer(403, { message: 'Not allowed: “a “red” hat for “my” project in “our project' }),
    'rejected forbidden',
  ],
  [
    '403 that quotes the start of a prompt with an unmatched mark in it',
    answer(403, { message: 'Not allowed: "a 5" wide project and its credentials…' }),
    'rejected forbidden',
  ],
  [
    '403 that quotes a prompt with marks in it and a space at its end',
    answer(403, { message: 'Not allowed: "x" y" my project ".' }),
    'rejected forbidden',
  ],
  [
    '403 that quotes two prompts in marks of two kinds',
    answer(403, { message: `Neither 'a hat' nor "a poster for my project" is allowed.` }),
    'rejected forbidden',
  ],
  [
    '403 that quotes the start of a prompt with an apostrophe in it',
    answer(403, { message: "Not allowed: 'my organization's 'red' project and its credentials" }),
    'rejected forbidden',
  ],
  [
    '403 naming the organization after a name in quotation marks',
    answer(403, { message: "The model 'image-1' isn't in your organization's plan." }),
    'operator_fault forbidden',
  ],
  [
    '403 naming the project, with apostrophes and a name in quotation marks',
    answer(403, { message: "The caller's project 'darkroom-1' can't use this model." }),
    'operator_fault forbidden',
  ],
  [
    '403 whose code names the project, and whose message mentions a policy',
    answer(403, { codes: ['project_denied'], message: 'This violates our policies.' }),
    'operator_fault forbidden',
  ],
  [
    '403 whose reason names the consumer',
    answer(403, { codes: ['permission_denied', 'consumer_suspended'] }),
    'operator_fault forbidden',
  ],
  [
    '403 of a gateway whose balance is used up',
    answer(403, { codes: ['insufficient_user_quota', 'new_api_error'] }),
    'exhausted quota_exhausted',
  ],
  ['404 without the vendor’s envelope', answer(404), 'operator_fault model_not_found'],
  ['429 without the vendor’s envelope', answer(429), 'refused rate_limited'],
  [
    '429 for the minute',
    answer(429, { quotaIds: ['GenerateRequestsPerMinutePerProjectPerModel'] }),
    'refused rate_limited',
  ],
  [
    '429 for the day',
    answer(429, { quotaIds: ['GenerateRequestsPerDayPerProjectPerModel-FreeTier'] }),
    'exhausted quota_exhausted',
  ],
  [
    '429 for a spend cap',
    answer(429, { message: 'Your project has exceeded its monthly spending cap.' }),
    'exhausted quota_exhausted',
  ],
  [
    '429 that quotes a prompt about a spending cap',
    answer(429, { message: 'Too many requests like "a hat with a spending cap".' }),
    'refused rate_limited',
  ],
  [
    '429 that mentions billing in its advice only',
    answer(429, { message: 'You exceeded your current quota, check your plan and billing.' }),
    'refused rate_limited',
  ],
  [
    'credential words in a 400',
    answer(400, { codes: ['invalid_argument', 'api_key_invalid'] }),
    'operator_fault credential',
  ],
  [
    'billing hard limit in a 400',
    answer(400, { codes: ['billing_hard_limit_reached'] }),
    'exhausted quota_exhausted',
  ],
  ['503 at once', answer(503, {}), 'refused overloaded'],
  ['503 at the last moment', answer(503, {}, promptRefusalMsMax), 'refused overloaded'],
  ['503 too late', answer(503, {}, promptRefusalMsMax + 1), 'unknown server_error'],
  ['503 without the vendor’s envelope', answer(503), 'unknown server_error'],
  [
    '500 with exhausted words',
    answer(500, { codes: ['insufficient_quota'] }),
    'unknown server_error',
  ],
  ['204', answer(204), 'unknown unexpected_status'],
  ['302', answer(302), 'unknown unexpected_status'],
  ['408', answer(408, {}), 'unknown unexpected_status'],
  ['499', answer(499, {}), 'unknown unexpected_status'],
  ['529', answer(529, {}), 'unknown server_error'],
]

describe('the class of an upstream answer', () => {
  it.each(rows)('of %s', (_title, seen, verdict) => {
    const found = classifyErrorAnswer(seen)
    expect(`${found.class} ${found.reason}`).toBe(verdict)
  })
})
