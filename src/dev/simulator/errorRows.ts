// The errors by kind of fault and, where they differ by a field, its value. `{model}` stands for the model.

/** The titles of the pages of a proxy in front of the vendor. */
export const pages: Readonly<Record<string, string>> = {
  '403 html': '403 Forbidden',
  '502': '502 Bad Gateway',
  html: '200 Welcome to nginx!',
  '503-html': '503 Service Temporarily Unavailable',
  'B 504': '504 Gateway Time-out',
}

const quotaMessage = 'You exceeded your current quota, please check your plan and billing details.'

/** Family A: the status, the reason of an ErrorInfo where there is one, and the message. */
export const errorsA: Readonly<Record<string, string>> = {
  '429': `429: ${quotaMessage}`,
  quota: `429: ${quotaMessage}`,
  'billing 400': '400: The free tier is not available. Please enable billing on your project.',
  'billing 403': '403 BILLING_DISABLED: This API method requires billing to be enabled.',
  'billing 429': '429: Your prepayment credits are depleted. Please go to billing.',
  '400': '400: Request contains an invalid argument.',
  '401': '401 ACCESS_TOKEN_TYPE_UNSUPPORTED: Request had invalid authentication credentials.',
  'no-token':
    '401 CREDENTIALS_MISSING: Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  'bad-key': '400 API_KEY_INVALID: API key not valid. Please pass a valid API key.',
  '403 credential':
    '403 API_KEY_SERVICE_BLOCKED: Your API key was reported as leaked. Please use another API key.',
  '403 project':
    '403 CONSUMER_SUSPENDED: Your project has been denied access. Please contact support.',
  '403 unverified': '403: The caller does not have permission',
  '403 quota': '403: The quota of this account is used up.',
  '403 country': '400: User location is not supported for the API use.',
  '404':
    '404: models/{model} is not found for API version v1beta, or is not supported for generateContent.',
  moderation: '400: The prompt violates the usage policies.',
  '500': '500: An internal error has occurred. Please retry.',
  '503': '503: The model is overloaded. Please try again later.',
  '504': '504: Deadline expired before operation could complete.',
}

/** The google.rpc status names by HTTP status, and by kind of fault where another name is usual. */
export const statusNames: Readonly<Record<string, string>> = {
  'billing 400': 'FAILED_PRECONDITION',
  '403 country': 'FAILED_PRECONDITION',
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

const badKeyB =
  '401 invalid_api_key: Incorrect API key provided. You can find your API key in your account settings.'

/**
 * Family B: the status, the code where there is one, the type where it is not `invalid_request_error` or `server_error`
 * by the status, and the message.
 */
export const errorsB: Readonly<Record<string, string>> = {
  '429':
    '429 rate_limit_exceeded requests: Rate limit reached for {model} on images per min. Please try again later.',
  quota: `429 insufficient_quota insufficient_quota: ${quotaMessage}`,
  billing: '400 billing_hard_limit_reached: Billing hard limit has been reached.',
  '400': '400 invalid_value: Invalid value.',
  '401': badKeyB,
  'bad-key': badKeyB,
  '403 credential': '403 invalid_api_key: This API key has been disabled.',
  '403 project': '403 model_not_found: Project does not have access to model {model}.',
  '403 unverified': '403: Your organization must be verified to use the model `{model}`.',
  '403 quota':
    '403 insufficient_user_quota new_api_error: The quota of this user is not sufficient.',
  '403 country':
    '403 unsupported_country_region_territory: Country, region, or territory not supported.',
  '404': "404 model_not_found: The model '{model}' does not exist or you do not have access to it.",
  moderation:
    '400 moderation_blocked image_generation_user_error: Your request was rejected by the safety system. If you believe this is an error, contact support.',
  '500': '500: The server had an error while processing your request.',
  '503':
    '503 server_is_overloaded service_unavailable_error: The server is currently overloaded. Please try again later.',
}
