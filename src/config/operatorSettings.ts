import { readFileSync } from 'node:fs'
import type { Environment } from './environment.ts'
import { ConfigError, explainIssues } from './configError.ts'
import { defined } from '../domain/defined.ts'
import type { ModelTable } from '../domain/models/modelTable.ts'
import { createModelTable } from '../domain/models/modelTable.ts'
import type { ModelId } from '../domain/models/models.ts'
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
  readonly models: ModelTable
  /** Names in `prices` that no model has. */
  readonly strayPrices: readonly ModelId[]
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
    const { apiKeyEnv: _variable, timeoutSeconds, paths, ...channel } = given
    return {
      ...defined(channel),
      ...defined({ paths: paths && defined(paths) }),
      apiKey: apiKeyOf(given, `${path}: channels[${index}]`, options, environment),
      // Rounded, because multiplying decimals is not exact: 16.1 × 1000 is slightly more than 16100.
      timeoutMs: Math.round(timeoutSeconds * 1000),
    }
  })
  const models = createModelTable(file)
  const strayPrices = file.prices.flatMap(({ model }) => (models.has(model) ? [] : [model]))
  return { channels, models, strayPrices: [...new Set(strayPrices)] }
}

/**
 * Returns the credential of a channel from its variable, and an empty text for a channel with a file, which is read
 * again for each call. With `withKeys`, throws `ConfigError` when there is no usable credential. Without, a missing
 * one is an empty text. What no header can carry is refused in both cases.
 */
function apiKeyOf(
  { apiKeyEnv = '', apiKeyFile }: OperatorFile['channels'][number],
  place: string,
  { withKeys }: { readonly withKeys: boolean },
  environment: Environment,
): string {
  const notForHeaders = 'contains a character that an HTTP header cannot carry, such as a line end'
  if (apiKeyFile !== undefined) {
    if (!withKeys) return ''
    const text = readText(apiKeyFile, `${place}.apiKeyFile: cannot read the credential`)
    if (credentialIn(text) !== undefined) return ''
    throw new ConfigError(`${place}.apiKeyFile: ${apiKeyFile} is empty, or ${notForHeaders}`)
  }
  const text = environment[apiKeyEnv] ?? ''
  const apiKey = text === '' && !withKeys ? '' : credentialIn(text)
  if (apiKey !== undefined) return apiKey
  const fault = text === '' ? 'is not set' : notForHeaders
  throw new ConfigError(`${place}.apiKeyEnv names ${apiKeyEnv}, which ${fault}`)
}

/** Returns the variables that the operator's file names in `apiKeyEnv`. Throws `ConfigError` for a wrong file. */
export function credentialVariables(path: string): readonly string[] {
  return parseOperatorFile(path).channels.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? [])
}

function parseOperatorFile(path: string): OperatorFile {
  const cannotRead = `DARKROOM_CONFIG: cannot read ${path}`
  const text = readText(path, cannotRead)
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    throw new ConfigError(`${cannotRead}: ${reasonOf(error)}`)
  }
  const parsed = operatorFile.safeParse(content)
  if (parsed.success) return parsed.data
  throw new ConfigError(`DARKROOM_CONFIG: ${path}: ${explainIssues(parsed.error)}`)
}

function readText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${what}: ${reasonOf(error)}`)
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unreadable'
}
