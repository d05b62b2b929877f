import { z } from 'zod'
import type { Environment } from '../config/environment.ts'
import { inheritedEnvironment, readConfig, readVariables } from '../config/environment.ts'
import { port } from '../config/fields.ts'

/** The variables that only `npm start` reads. */
const variables = z.object({
  TEMPORAL_PORT: port(7233),
  TEMPORAL_UI_PORT: port(8233),
  POSTGRES_PORT: port(5433),
  SIMULATOR_PORT: port(8090),
  SIMULATOR_RELAY: z.enum(['on', 'off']).default('off'),
})

/** The names of the variables that only `npm start` reads. */
export const startVariableNames: readonly string[] = Object.keys(variables.shape)

export type StartConfig = ReturnType<typeof readStartConfig>

/** Reads and checks every variable of `npm start` and of its processes. Throws `ConfigError`. */
export function readStartConfig(environment: Environment = inheritedEnvironment()) {
  const given = readVariables(variables, environment)
  return {
    ...readConfig(environment),
    temporalPort: given.TEMPORAL_PORT,
    temporalUiPort: given.TEMPORAL_UI_PORT,
    postgresPort: given.POSTGRES_PORT,
    simulatorPort: given.SIMULATOR_PORT,
    /** Whether half of the calls of family B go to a bad relay. */
    simulatorRelay: given.SIMULATOR_RELAY === 'on',
  } as const
}
