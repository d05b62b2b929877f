import { basicEnvironment } from './environment.ts'
import type { TemporalPrograms } from './findTemporal.ts'
import { postgresUser } from './initPostgres.ts'
import { keepRunning, type KeptPart } from './keepRunning.ts'
import type { Postgres } from './startPostgres.ts'
import type { StackOptions } from './stackOptions.ts'
import type { PidRecord } from './pidRecord.ts'
import {
  startTemporalDevServer,
  startTemporalServer,
  type TemporalInnerPort,
} from './startTemporal.ts'
import { startTemporalUi } from './temporalUi.ts'

/** The port of every part of the stack. */
export type StackPort = 'postgres' | 'temporal' | 'temporalUi' | TemporalInnerPort

/** What starting Temporal needs besides the options of the stack. */
export type TemporalPartsNeeds = {
  programs: TemporalPrograms
  postgres: Postgres | undefined
  port: (name: StackPort) => number
  pids: PidRecord
}

/** Starts Temporal and its web interface, in that order; both are kept running. */
export const startTemporalParts = async (
  { dataDir, env: wholeEnv, say, withUi }: StackOptions,
  { programs, postgres, port, pids }: TemporalPartsNeeds,
): Promise<KeptPart[]> => {
  const env = basicEnvironment(wholeEnv)
  const shared = { dataDir, port: port('temporal'), innerPort: port, env, pids }
  if (programs.kind === 'dev-server') {
    const uiPort = withUi ? port('temporalUi') : undefined
    const start = () => startTemporalDevServer({ ...shared, file: programs.file, uiPort })
    return [await keepRunning('Temporal', start, say)]
  }
  if (postgres === undefined) throw new Error('the real Temporal server needs PostgreSQL')
  const database = {
    url: postgres.url,
    port: port('postgres'),
    user: postgresUser,
    password: postgres.password,
  }
  const { binDir, key } = programs
  const start = () => startTemporalServer({ ...shared, binDir, key, postgres: database })
  const server = await keepRunning('Temporal', start, say)
  if (!withUi) return [server]
  const temporalAddress = `127.0.0.1:${port('temporal')}`
  const ui = { dataDir, binDir, port: port('temporalUi'), temporalAddress, env, pids }
  return [server, await keepRunning("Temporal's web interface", () => startTemporalUi(ui), say)]
}
