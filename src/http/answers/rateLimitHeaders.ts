import type { RequestsState } from '../../domain/accounts/accountLimits.ts'
import {
  nextRequestSeconds,
  requestsRemaining,
  windowSeconds,
} from '../../domain/accounts/accountLimits.ts'

/**
 * Returns the headers that tell a client the limit of requests of its account, by the draft
 * "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers-11). `t` is the time for which `r` stands:
 * after it, one request more fits.
 */
export function rateLimitHeaders(requests: RequestsState): Readonly<Record<string, string>> {
  return {
    'RateLimit-Policy': `"requests";q=${requests.limit};w=${windowSeconds(requests)}`,
    RateLimit: `"requests";r=${requestsRemaining(requests)};t=${nextRequestSeconds(requests)}`,
  }
}
