import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ConfigError } from '../../src/config/configError.ts'
import { readConfig } from '../../src/config/environment.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { startAdmin } from '../../src/wiring/adminProcess.ts'
import { tempFolder } from '../support/tempFolder.ts'

it("the process for operators does not start with a wrong operator's file, and says what is wrong", async () => {
  const path = join(tempFolder(), 'operator.json')
  writeFileSync(path, '{"channels":[{"name":"main"}]}')
  const config = readConfig(
    {
      ADMIN_KEYS: 'boss:a-secret-of-an-operator',
      KEY_PEPPER: 'k1:a-pepper-that-is-long-enough',
      DATABASE_URL: 'postgres://role@127.0.0.1:1/darkroom',
      DARKROOM_CONFIG: path,
    },
    'admin',
  )
  const start = startAdmin(
    config,
    createLogger({ level: 'silent', process: 'admin', pretty: false }),
  )
  const error = await start.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigError)
  expect(String(error)).toContain(`DARKROOM_CONFIG: ${path}: channels`)
})
