import type { Config, Environment } from '../config/environment.ts'
import { required } from '../config/environment.ts'
import type { OperatorSettings } from '../config/operatorSettings.ts'
import { readOperatorSettings } from '../config/operatorSettings.ts'
import { workflowIdOf } from '../domain/ids.ts'
import { createModelTable } from '../domain/models/modelTable.ts'
import type { OperatorParts } from '../operations/operator.ts'

/**
 * Creates what operations need besides PostgreSQL. The operator's file is read once, when an operation first needs it.
 * `environment` has the credentials of its channels. The code for Temporal and for calls upstream is loaded when it is
 * first used, because loading it takes time. Rows of tasks get no addresses of images.
 */
export function createOperatorParts(config: Config, environment: Environment): OperatorParts {
  const { operatorFilePath } = config
  let read: OperatorSettings | undefined
  const settings = () => {
    const path = required(operatorFilePath, 'DARKROOM_CONFIG')
    return (read ??= readOperatorSettings(path, { withKeys: false }, environment))
  }
  return {
    pepper: () => required(config.keyPeppers?.[0], 'KEY_PEPPER'),
    lifetimes: config,
    models: () => (operatorFilePath === undefined ? createModelTable() : settings().models),
    channels: () => (operatorFilePath === undefined ? [] : settings().channels),
    terms: () => {
      const { channels, models } = settings()
      return { channels, models, taskDeadlineMs: config.taskDeadlineSeconds * 1_000 }
    },
    checkChannel: async (name) => {
      const channel = settings().channels.find((each) => each.name === name)
      if (channel === undefined) return undefined
      return (await import('../upstream/checkChannel.ts')).checkChannel(channel)
    },
    workflowUrl: (taskId) => {
      const base = config.temporalUiUrl?.replace(/\/+$/, '')
      const path = `workflows/${encodeURIComponent(workflowIdOf(taskId))}`
      return base && `${base}/namespaces/${config.temporalNamespace}/${path}`
    },
    endRuns: async (taskIds) => {
      if (config.temporalAddress === undefined || taskIds.length === 0) return
      await (await import('./operateTemporal.ts')).cancelRuns(config, taskIds)
    },
  }
}
