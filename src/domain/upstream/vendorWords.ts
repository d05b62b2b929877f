// The words by which vendors say why a call brought no image, in lower case: the codes, types, statuses and reasons of
// errors, and the finish and block reasons of family A. Each list has one meaning. The texts that stand for a code where
// a vendor has none are at the end. A word that is in no list is counted and logged, so that an operator hears of it.

/**
 * What a word says. `exhausted`: the quota or credit of the account is used up. `moderation`: the request or the image
 * is against the vendor's rules. `credential`: of the account. `account`: the project, its region, its billing, or a
 * limit of the whole account. `model`: the account does not have the model. `other`: anything else that is known.
 */
type Meaning = 'exhausted' | 'moderation' | 'credential' | 'account' | 'model' | 'other'

const lists: readonly (readonly [Meaning, readonly string[]])[] = [
  [
    'exhausted',
    [
      // https://developers.openai.com/api/docs/guides/error-codes
      'insufficient_quota',
      'credit_balance_exhausted',
      'billing_hard_limit_reached',
      'billing_not_active',
      'spend_limit_exceeded',
      'organization_spend_limit_exceeded',
      'project_spend_limit_exceeded',
      'organization_usage_limit_exceeded',
      // https://github.com/QuantumNous/new-api
      'insufficient_user_quota',
      'pre_consume_token_quota_failed',
    ],
  ],
  [
    'moderation',
    [
      // https://developers.openai.com/docs/guides/image-generation, and dall-e
      'moderation_blocked',
      'content_policy_violation',
      'image_content_policy_violation',
      // https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
      'content_filter',
      'contentfilter',
      'responsibleaipolicyviolation',
      // Relays: https://github.com/QuantumNous/new-api
      'prompt_blocked',
      'sensitive_words_detected',
      // https://ai.google.dev/api/generate-content#FinishReason and #BlockReason
      'safety',
      'recitation',
      'language',
      'blocklist',
      'prohibited_content',
      'spii',
      'image_safety',
      'image_prohibited_content',
      'image_recitation',
      'escalation',
      // https://cloud.google.com/vertex-ai/docs/reference/rest/v1/GenerateContentResponse
      'model_armor',
      'jailbreak',
    ],
  ],
  [
    'credential',
    [
      // https://github.com/googleapis/googleapis/blob/master/google/api/error_reason.proto
      'api_key_invalid',
      'api_key_expired',
      // https://developers.openai.com/api/docs/guides/error-codes
      'invalid_api_key',
      'account_deactivated',
    ],
  ],
  [
    'account',
    [
      // A 400 of family A: the country is not served, or the project has no billing.
      // https://ai.google.dev/gemini-api/docs/troubleshooting
      'failed_precondition',
      // https://developers.openai.com/api/docs/supported-countries
      'unsupported_country_region_territory',
      // https://github.com/googleapis/googleapis/blob/master/google/api/error_reason.proto
      'location_policy_violated',
      'org_restriction_violation',
      'security_policy_violated',
      // https://github.com/googleapis/js-genai, FinishReason: potentially unsafe prompts have limited the account.
      'pup_limited_disabled',
    ],
  ],
  ['model', ['model_not_found', 'deploymentnotfound']],
  [
    'other',
    [
      // google.rpc.Code and google.api.ErrorReason
      'invalid_argument',
      'out_of_range',
      'unauthenticated',
      'permission_denied',
      'not_found',
      'aborted',
      'already_exists',
      'resource_exhausted',
      'cancelled',
      'unknown',
      'internal',
      'unimplemented',
      'unavailable',
      'deadline_exceeded',
      'rate_limit_exceeded',
      'resource_quota_exceeded',
      'model_capacity_exhausted',
      'access_token_expired',
      'credentials_missing',
      // https://developers.openai.com/api/docs/guides/error-codes
      'invalid_request_error',
      'image_generation_user_error',
      'billing_limit_user_error',
      'invalid_value',
      'invalid_type',
      'unknown_parameter',
      'unsupported_parameter',
      'unsupported_value',
      'missing_required_parameter',
      'invalid_input_fidelity_model',
      'rate_limit_error',
      'slow_down',
      'requests',
      'tokens',
      'server_error',
      'server_is_overloaded',
      'service_unavailable_error',
      // https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response_error.py
      'invalid_prompt',
      'invalid_image',
      'invalid_image_format',
      'invalid_base64_image',
      'image_too_large',
      'image_too_small',
      'image_parse_error',
      'invalid_image_mode',
      'image_file_too_large',
      'unsupported_image_media_type',
      'empty_image_file',
      // Relays: https://github.com/QuantumNous/new-api
      'new_api_error',
      'upstream_error',
      'bad_response_status_code',
      'do_request_failed',
      'invalid_request',
      // Azure
      'accessdenied',
      'badrequest',
      // Finish reasons of family A that say only that there is no image
      'finish_reason_unspecified',
      'stop',
      'max_tokens',
      'no_image',
      'image_other',
      'other',
      'malformed_function_call',
      'malformed_response',
      'missing_thought_signature',
      'too_many_tool_calls',
      'unexpected_tool_call',
      'continuation',
    ],
  ],
]

const meanings: ReadonlyMap<string, Meaning> = new Map(
  lists.flatMap(([meaning, words]) => words.map((word) => [word, meaning] as const)),
)

/**
 * Recognizes the reasons of family A for a credential, project or service that may not be used. There are more of them
 * than the list in error_reason.proto, such as `USER_PROJECT_DENIED`.
 */
const accountPart =
  /(?:^|_)(?:api_key|access_token|iam_permission|project|consumer|billing|account|service_disabled|pup_limited)/

/** Returns what a word of a vendor says. Returns `undefined` for a word that Darkroom does not know. */
export function meaningOf(word: string): Meaning | undefined {
  const lower = word.toLowerCase()
  return meanings.get(lower) ?? (accountPart.test(lower) ? 'account' : undefined)
}

/**
 * The HTTP status that a code stands for. An error that came with a 2xx is judged by it.
 * https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
 */
export const statusOfCode: ReadonlyMap<string, number> = new Map([
  ['invalid_argument', 400],
  ['invalid_request_error', 400],
  ['image_generation_user_error', 400],
  ['unauthenticated', 401],
  ['permission_denied', 403],
  ['not_found', 404],
  ['resource_exhausted', 429],
  ['rate_limit_exceeded', 429],
  ['rate_limit_error', 429],
  ['slow_down', 429],
])

/** A code or reason of a vendor may be shown and logged within these bounds. A number only repeats the status. */
export const showableCode = /^(?!\d+$)[\w.-]{1,64}$/

/**
 * Recognizes the message about a prompt that family A blocked before the model saw it, and Vertex AI's about its
 * "Responsible AI practices" (https://cloud.google.com/vertex-ai/generative-ai/docs/image/responsible-ai-imagen). They
 * have no code. Parts of the message that quote the prompt are read too: if the prompt itself contains such words, only
 * the task of its own client fails.
 */
export const moderationText =
  /violat\w{1,5} .{0,80}polic|safety (?:system|polic)|content polic|responsible ai practices/i

/**
 * Recognizes used-up prepaid credits and a reached spend cap. Family A has no code for them, only a message.
 * https://ai.google.dev/gemini-api/docs/billing
 */
export const exhaustedText =
  /credits? (?:are|is|balance is) (?:depleted|exhausted)|spend(?:ing)? (?:cap|limit)/i

/** Recognizes the id of a quota that does not renew within minutes. https://ai.google.dev/gemini-api/docs/rate-limits */
export const lastingQuota = /per_?-?(?:day|week|month)|spend/i
