import { loadClientConnectConfig } from '@temporalio/envconfig'
import type { TLSConfig } from '@temporalio/common/lib/internal-non-workflow/index.js'

/** How to reach Temporal, the same for client and worker. */
export type TemporalSettings = {
  readonly address: string
  readonly namespace: string
  readonly tls?: TLSConfig | boolean
  readonly apiKey?: string
  readonly metadata?: Readonly<Record<string, string>>
}

/**
 * TLS, API key and gRPC metadata come from the variables that `@temporalio/envconfig` reads itself;
 * address and namespace from our configuration. Its TOML file is not read: a personal profile of the
 * operator's must not reach into a service.
 */
export function temporalSettings(given: {
  readonly address: string
  readonly namespace: string
}): TemporalSettings {
  const { tls, apiKey, metadata } = loadClientConnectConfig({
    disableFile: true,
  }).connectionOptions
  return {
    ...given,
    ...(tls === undefined || tls === null ? {} : { tls }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(metadata === undefined ? {} : { metadata: textOnly(metadata) }),
  }
}

/** The part that names and opens the connection, in the shape that client and worker both take. */
export function connectionOptions(settings: TemporalSettings) {
  const { address, tls, apiKey, metadata } = settings
  return {
    address,
    ...(tls === undefined ? {} : { tls }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
  }
}

function textOnly(metadata: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).filter((entry): entry is [string, string] => {
      return typeof entry[1] === 'string'
    }),
  )
}
