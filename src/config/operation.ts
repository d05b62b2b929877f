import { readFileSync } from 'node:fs'
import type { Capabilities, CapabilityTable } from '../domain/capabilities.ts'
import { builtInCapabilities } from '../domain/capabilities.ts'
import type { Channel } from '../domain/channel.ts'
import type { ImageSize, ModelId } from '../domain/models.ts'
import { modelIds } from '../domain/models.ts'
import type { OperatorFile } from '../schema/operatorFile.ts'
import { operatorFile } from '../schema/operatorFile.ts'
import { ConfigError, explainIssues } from './configError.ts'
import type { Environment } from './configError.ts'

/** The operator's file, checked, with each channel's credential taken from its variable. */
export type Operation = {
  readonly channels: readonly Channel[]
  readonly prices: OperatorFile['prices']
  readonly capabilities: CapabilityTable
}

/** A credential that is none of this would fail every call, and look like an upstream that is away. */
const headerText = /^[\x20-\x7e]*$/

/**
 * Reads the file that DARKROOM_CONFIG names (design section 3). Throws `ConfigError` naming the file and
 * the path in it. `withKeys` false: the API needs no credentials.
 */
export function readOperation(
  path: string,
  options: { readonly withKeys: boolean },
  environment: Environment,
): Operation {
  const file = parseOperatorFile(path)
  const channels = file.channels.map(
    ({ apiKeyEnv, timeoutSeconds, ...channel }, index): Channel => {
      const apiKey = environment[apiKeyEnv]
      if (options.withKeys && (apiKey === undefined || apiKey === '')) {
        throw new ConfigError(
          `${path}: channels[${index}].apiKeyEnv names ${apiKeyEnv}, which is not set`,
        )
      }
      if (!headerText.test(apiKey ?? '')) {
        throw new ConfigError(
          `${apiKeyEnv} holds what no HTTP header can carry, such as a line end`,
        )
      }
      // 16.1 × 1000 is not exactly 16100.
      const timeoutMs = Math.round(timeoutSeconds * 1000)
      return { ...channel, apiKey: apiKey ?? '', timeoutMs }
    },
  )
  return { channels, prices: file.prices, capabilities: overridden(path, file.capabilities) }
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

function overridden(path: string, overrides: OperatorFile['capabilities']): CapabilityTable {
  const merged = (model: ModelId): Capabilities => {
    const builtIn = builtInCapabilities[model]
    const override = Object.entries(overrides[model] ?? {}).filter(
      ([, value]) => value !== undefined,
    )
    const sizeIsSent = builtIn.sizeIsSent || addsSize(builtIn, overrides[model]?.sizes)
    const capabilities = { ...builtIn, sizeIsSent, ...Object.fromEntries(override) }
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

/** A size that a model does not make unasked must be sent, or it would be charged and not made. */
function addsSize(builtIn: Capabilities, sizes: readonly ImageSize[] = []): boolean {
  return sizes.some((size) => !builtIn.sizes.includes(size))
}
