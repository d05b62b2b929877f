import { readFileSync } from 'node:fs'
import type { Environment } from '../config.ts'
import { ConfigError, explainIssues } from './configError.ts'
import { defined } from '../domain/defined.ts'
import type { Capabilities, CapabilityTable } from '../domain/models/capabilities.ts'
import { builtInCapabilities, overrideCapabilities } from '../domain/models/capabilities.ts'
import type { ModelId } from '../domain/models/models.ts'
import { modelIds } from '../domain/models/models.ts'
import type { Channel } from '../domain/upstream/channel.ts'
import { credentialIn } from '../domain/upstream/channel.ts'
import type { OperatorFile } from '../schema/operatorFile.ts'
import { operatorFile } from '../schema/operatorFile.ts'

/**
 * The checked content of the operator's file. Each channel also has its credential, if an environment variable
 * contains it.
 */
export type OperatorSettings = {
  readonly channels: readonly Channel[]
  readonly prices: OperatorFile['prices']
  readonly capabilities: CapabilityTable
}

/**
 * Reads the operator's file, which DARKROOM_CONFIG names. Throws `ConfigError` with the name of the file and
 * the path of the wrong value in it. When `withKeys` is false, credentials may be missing, because the API
 * process does not need them.
 */
export function readOperatorSettings(
  path: string,
  options: { readonly withKeys: boolean },
  environment: Environment,
): OperatorSettings {
  const file = parseOperatorFile(path)
  const channels = file.channels.map((given, index): Channel => {
    const { name, family, baseUrl, models, concurrencyMax, apiKeyFile } = given
    const { apiKeyHeader, apiKeyPrefix, query, paths, weight } = given
    return {
      name,
      family,
      baseUrl,
      apiKey: apiKeyOf(given, `${path}: channels[${index}]`, options, environment),
      ...defined({ apiKeyFile, apiKeyHeader, apiKeyPrefix, query, weight }),
      ...(paths === undefined ? {} : { paths: defined(paths) }),
      models,
      // Rounded, because multiplying decimals is not exact: 16.1 × 1000 is slightly more than 16100.
      timeoutMs: Math.round(given.timeoutSeconds * 1000),
      concurrencyMax,
    }
  })
  return { channels, prices: file.prices, capabilities: mergeCapabilities(path, file.capabilities) }
}

/**
 * Returns the credential of a channel from its variable. Returns an empty text when the channel has a file
 * instead, because the file is read again for each call. With `withKeys`, throws `ConfigError` when the variable
 * is not set or the file has no usable credential. Without `withKeys`, returns an empty text when the variable is
 * not set, and does not look at the file. Always throws when the variable has a character that no header can carry.
 */
function apiKeyOf(
  { apiKeyEnv, apiKeyFile }: OperatorFile['channels'][number],
  place: string,
  { withKeys }: { readonly withKeys: boolean },
  environment: Environment,
): string {
  if (apiKeyFile !== undefined) {
    if (withKeys) checkApiKeyFile(apiKeyFile, `${place}.apiKeyFile`)
    return ''
  }
  const text = environment[apiKeyEnv ?? ''] ?? ''
  if (text === '') {
    if (withKeys) {
      throw new ConfigError(`${place}.apiKeyEnv names ${apiKeyEnv}, which is not set`)
    }
    return ''
  }
  const apiKey = credentialIn(text)
  if (apiKey !== undefined) return apiKey
  throw new ConfigError(
    `${place}.apiKeyEnv names ${apiKeyEnv}, which contains a character that an HTTP header cannot carry, such as a line end`,
  )
}

function checkApiKeyFile(file: string, place: string): void {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unreadable'
    throw new ConfigError(`${place}: cannot read the credential: ${reason}`)
  }
  if (credentialIn(text) === undefined) {
    throw new ConfigError(
      `${place}: ${file} is empty, or contains a character that an HTTP header cannot carry`,
    )
  }
}

/** Returns the variables that the operator's file names in `apiKeyEnv`. Throws `ConfigError` for a wrong file. */
export function credentialVariables(path: string): readonly string[] {
  return parseOperatorFile(path).channels.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? [])
}

function parseOperatorFile(path: string): OperatorFile {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unreadable'
    throw new ConfigError(`DARKROOM_CONFIG: cannot read ${path}: ${reason}`)
  }
  const parsed = operatorFile.safeParse(content)
  if (!parsed.success)
    throw new ConfigError(`DARKROOM_CONFIG: ${path}: ${explainIssues(parsed.error)}`)
  return parsed.data
}

/**
 * Returns the built-in capabilities of each model, replaced by the operator's values where the file has them.
 */
function mergeCapabilities(path: string, overrides: OperatorFile['capabilities']): CapabilityTable {
  const merged = (model: ModelId): Capabilities => {
    const capabilities = overrideCapabilities(builtInCapabilities[model], overrides[model] ?? {})
    if (!capabilities.sizeIsSent && capabilities.sizes.length > 1) {
      throw new ConfigError(
        `${path}: capabilities.${model}.sizeIsSent must be true for a choice of sizes`,
      )
    }
    return capabilities
  }
  const table = Object.fromEntries(modelIds.map((model) => [model, merged(model)]))
  return { ...builtInCapabilities, ...table }
}
