import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { withRuntimeFile, writeRuntimeFile } from '../../src/config/runtimeFile.ts'
import { processEnvironment, serviceEnvironment } from '../../src/dev/serviceEnvironment.ts'
import { tempFolder } from '../support/tempFolder.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const stack = { databaseUrl: 'postgres://127.0.0.1:1/darkroom', temporalAddress: '127.0.0.1:2' }
const ports = { api: 3, internal: 4, workerInternal: 5, simulator: 6 }

/** The configuration of a CLI in another shell while `npm start` runs with these variables. */
async function seenByCli(variables: Record<string, string>, simulatorUrl?: string) {
  const dataDir = tempFolder()
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  const config = readConfig({ ...variables, DATA_DIR: dataDir })
  await writeRuntimeFile(dataDir, await serviceEnvironment(config, stack, ports, simulatorUrl))
  return readConfig(withRuntimeFile({ DATA_DIR: dataDir }))
}

it('generates the secrets whose variables are set but empty', async () => {
  const seen = await seenByCli({ SIGNING_KEYS: '', KEY_PEPPER: '' }, 'http://127.0.0.1:6')
  expect(seen.signingKeys).toHaveLength(1)
  expect(seen.keyPeppers).toHaveLength(1)
})

it('gives the CLI the settings that the operator has given the service', async () => {
  const seen = await seenByCli({
    DARKROOM_CONFIG: 'config.json',
    TEMPORAL_NAMESPACE: 'images',
    RETENTION_SECONDS: '60',
    TOMBSTONE_SECONDS: '70',
    INPUT_RETENTION_SECONDS: '50',
    TASK_DEADLINE_SECONDS: '80',
  })
  expect(seen).toMatchObject({
    operatorFilePath: resolve('config.json'),
    temporalNamespace: 'images',
    retentionSeconds: 60,
    tombstoneSeconds: 70,
    inputRetentionSeconds: 50,
    taskDeadlineSeconds: 80,
  })
})

it("gives the credentials that the operator's file names to the worker, and not to the API", () => {
  const path = join(tempFolder(), 'config.json')
  const channel = { name: 'b', family: 'B', baseUrl: 'http://127.0.0.1:9', apiKeyEnv: 'VENDOR_KEY' }
  writeFileSync(path, JSON.stringify({ channels: [channel] }))
  vi.stubEnv('VENDOR_KEY', 'secret')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'of the blob store')
  const environment = { DARKROOM_CONFIG: path, PORT: '1' }
  const shared = { ...environment, AWS_SECRET_ACCESS_KEY: 'of the blob store' }
  expect(processEnvironment('worker', environment)).toMatchObject({
    ...shared,
    VENDOR_KEY: 'secret',
  })
  expect(processEnvironment('api', environment)).toMatchObject(shared)
  expect(processEnvironment('api', environment)).not.toHaveProperty('VENDOR_KEY')
})

it('puts an IPv6 address of the API in brackets', async () => {
  expect((await seenByCli({ HOST: '::1' })).publicUrl).toBe('http://[::1]:3')
  expect(readConfig({ HOST: '::1', PORT: '80' }).publicUrl).toBe('http://[::1]:80')
})
