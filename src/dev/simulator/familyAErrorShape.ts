import { jsonReply, type Reply } from './reply.ts'

/** google.rpc status names by HTTP status: research/wire.md section 1, Errors. */
const statusNames: Readonly<Record<number, string>> = {
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

export type ErrorPartsA = {
  readonly status: number
  readonly message: string
  readonly name?: string
  readonly details?: readonly unknown[]
  readonly headers?: Readonly<Record<string, string>>
}

const typeUrl = (name: string) => `type.googleapis.com/google.rpc.${name}`

export function errorInfo(reason: string): unknown {
  return {
    '@type': typeUrl('ErrorInfo'),
    reason,
    domain: 'googleapis.com',
    metadata: { service: 'generativelanguage.googleapis.com' },
  }
}

export function quotaFailure(quotaId: string): readonly unknown[] {
  const quotaMetric = 'generativelanguage.googleapis.com/generate_content_requests_per_model'
  return [
    {
      '@type': typeUrl('QuotaFailure'),
      violations: [{ quotaMetric, quotaId, quotaValue: '10' }],
    },
    {
      '@type': typeUrl('Help'),
      links: [
        {
          description: 'Learn more about Gemini API quotas',
          url: 'https://ai.google.dev/gemini-api/docs/rate-limits',
        },
      ],
    },
  ]
}

/** How long to wait, as family A says it in the body. */
export function retryInfo(retryDelay: string | null): readonly unknown[] {
  return retryDelay === null ? [] : [{ '@type': typeUrl('RetryInfo'), retryDelay }]
}

export function writeErrorA(parts: ErrorPartsA, inArray: boolean): Reply {
  const { status, message, details = [] } = parts
  const error = {
    code: status,
    message,
    status: parts.name ?? statusNames[status] ?? 'UNKNOWN',
    ...(details.length > 0 ? { details } : {}),
  }
  return jsonReply(status, inArray ? [{ error }] : { error }, parts.headers)
}
