// `npm start`: the whole service on one machine, until Ctrl-C, SIGTERM, or the end of its terminal. At whatever stage, calls
// under way finish first. A second signal stops at once.
//
// node src/dev/main.ts [--with PID]
//
// --with PID: ends at once when the process PID, the parent of this one, has ended. So nothing goes on when
// npm is killed.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { inheritedEnvironment, required } from '../config/environment.ts'
import { ConfigError } from '../config/configError.ts'
import { readOperatorSettings } from '../config/operatorSettings.ts'
import { engineFileName, runtimeFileName } from '../config/runtimeFile.ts'
import { isLoopback } from '../domain/isLoopback.ts'
import { migrate } from '../store/schema/migrate.ts'
import { cliActor } from '../wiring/cliActor.ts'
import { StartError } from './command.ts'
import { embeddedSecret, lockFile, makePrivateFolder, writeSecretFile } from './dataDir.ts'
import { announcement, openDemoAccount } from './demo.ts'
import { serviceEnvironment } from './serviceEnvironment.ts'
import { requireFreePorts } from './ports.ts'
import { startPostgres } from './postgres.ts'
import type { Running } from './running.ts'
import { createRunning } from './running.ts'
import { startService } from './service.ts'
import { startSimulator } from './simulator/startSimulator.ts'
import { onStopRequest } from './stopRequests.ts'
import { provideTemporal, temporalAddresses } from './temporal.ts'
import type { Say } from './terminal.ts'
import { readStartConfig } from './variables.ts'

/** How long to wait for the end of another start, in case that it is being killed. */
const startTimeoutMs = 2_000
/** How long to wait for the parts of a killed start. PostgreSQL writes a checkpoint before it ends. */
const partsTimeoutMs = 60_000

const running = createRunning()

// Every child process inherits this umask. So only this user can read what is written into DATA_DIR.
process.umask(0o077)
onStopRequest(() => {
  running.say('\nStopping. Calls under way finish first. Ctrl-C again stops at once.')
  void running.stop(0)
})
try {
  await start(running)
} catch (error) {
  // A stop ends what the start waits for.
  if (!running.stopping.aborted) {
    const isForPeople = error instanceof ConfigError || error instanceof StartError
    running.say(isForPeople ? error.message : String(error instanceof Error ? error.stack : error))
  }
  await running.stop(error instanceof ConfigError ? 2 : 1)
}

/**
 * Starts every part. Resolves when `GET /readyz` answers 200, without waiting for Temporal: the service makes images
 * without it. Throws `ConfigError` or `StartError`.
 */
async function start(running: Running): Promise<void> {
  const { say, stopping } = running
  const config = readStartConfig()
  const { dataDir, operatorFilePath } = config
  const onLoopback = isLoopback(config.host)
  const withSimulator = operatorFilePath === undefined
  if (withSimulator && !onLoopback) {
    throw new ConfigError(
      'DARKROOM_CONFIG is not set, and the simulator serves only while HOST is a loopback address.',
    )
  }
  // Checks the operator's file now. Otherwise the API and the worker would find an error only seconds later.
  if (!withSimulator) {
    readOperatorSettings(operatorFilePath, { withKeys: true }, inheritedEnvironment())
  }
  await makePrivateFolder(dataDir, 'DATA_DIR')
  const lockFd = await lockDataDir(dataDir, say)
  await requireFreePorts(config)
  const launches = running.launches({ dataDir, lockFd })
  const givenUrl = config.databaseUrl
  const postgres =
    givenUrl === undefined ? await startPostgres(config.postgresPort, launches.embedded) : undefined
  running.beginProgress(join(dataDir, engineFileName))
  void provideTemporal(config, postgres, launches.embedded)
    .catch((error: unknown) => stopping.aborted || say(withoutTemporal(error)))
    .finally(running.endProgress)
  const databaseUrl = required(givenUrl ?? postgres?.url('darkroom'), 'DATABASE_URL')
  const { applied } = await migrate({
    databaseUrl: config.databaseSessionUrl ?? databaseUrl,
    actor: cliActor(config.actor),
  })
  if (applied.length > 0) say(`Database migrated: ${applied.join(', ')}.`)
  const parts = { databaseUrl, ...temporalAddresses(config) }
  const simulator = withSimulator ? await startSimulator({ port: config.simulatorPort }) : undefined
  const environment = await serviceEnvironment(config, parts, simulator?.url)
  const keyPath = join(dataDir, 'demo-key')
  const key = onLoopback ? await openDemoAccount(keyPath, environment) : undefined
  const runtimePath = join(dataDir, runtimeFileName)
  // The CLI finds the service until the last call has finished, which may take minutes.
  process.once('exit', () => rmSync(runtimePath, { force: true }))
  await writeSecretFile(runtimePath, JSON.stringify({ environment }, null, 2))
  const adminKeyPath = config.adminKeys === undefined ? join(dataDir, 'admin-key') : undefined
  const adminKeys = adminKeyPath && { ADMIN_KEYS: `local:${await embeddedSecret(adminKeyPath)}` }
  await startService(config, { ...environment, ...adminKeys }, launches.services)
  stopping.throwIfAborted()
  say(announcement(config, adminKeyPath, key === undefined ? undefined : { key, keyPath }))
  void stopWhenRefused(running)
}

async function stopWhenRefused({ refused, say, stop }: Running): Promise<void> {
  say(await refused())
  await stop(2)
}

/**
 * Locks DATA_DIR. A running start holds `lock`. It and all its parts hold `parts.lock`, so that the next
 * start waits for what a kill has left. Returns the file descriptor of `parts.lock`.
 */
async function lockDataDir(dataDir: string, say: Say): Promise<number> {
  const own = await lockFile(join(dataDir, 'lock'), { timeoutMs: startTimeoutMs })
  if (own === undefined) {
    throw new StartError(
      `DATA_DIR ${dataDir} is in use by another start of Darkroom. Stop that one, or set DATA_DIR to ` +
        'another folder, and the port variables to free ports.',
    )
  }
  const onWait = () => say('Waiting for the end of what a killed start has left…')
  const parts = await lockFile(join(dataDir, 'parts.lock'), { timeoutMs: partsTimeoutMs, onWait })
  if (parts !== undefined) return parts.fd
  throw new StartError(`Processes of a killed start still use DATA_DIR ${dataDir}. End them first.`)
}

function withoutTemporal(error: unknown): string {
  return (
    'Darkroom works without Temporal: the worker carries out all tasks itself, and no UI shows their runs. ' +
    `Why there is none: ${error instanceof StartError ? error.message : String(error)}`
  )
}
