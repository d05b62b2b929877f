import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { defined } from '../../src/domain/defined.ts'
import type { AttemptStore } from '../../src/store/attempts/attemptStore.ts'
import type { InsertedTask } from '../support/database/insertTask.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { useOpened } from '../support/useOpened.ts'

/** A migrated database for one test file, and the environment of commands that work on it. */
export type CliWorld = {
  readonly pool: Pool
  readonly attempts: AttemptStore
  readonly environment: Readonly<Record<string, string>>
  /** Runs `darkroom` with the arguments. */
  readonly run: (...args: readonly string[]) => ReturnType<typeof runDarkroom>
  /** Runs `darkroom` with the arguments and `--json`. Throws when it fails. */
  readonly json: <Answer>(...args: readonly string[]) => Promise<Answer>
  readonly close: () => Promise<void>
}

const operatorFile = {
  channels: [{ name: 'b-main', family: 'B', baseUrl: 'http://127.0.0.1:9', apiKeyEnv: 'KEY' }],
  prices: [{ model: 'familyb-image-2-vip', credits: 30 }],
}

export const pepper = { id: 'test', secret: 'pepper-of-the-tests-0123456789' }

/** Opens a `CliWorld`. The one price of its operator's file, 30 credits, differs from the 10 that `insertTask` holds. */
export async function openCliWorld(): Promise<CliWorld> {
  const database = await createTestDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-cli-'))
  const operatorFilePath = join(folder, 'config.json')
  await writeFile(operatorFilePath, JSON.stringify(operatorFile))
  const environment = {
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: folder,
    DARKROOM_CONFIG: operatorFilePath,
    KEY_PEPPER: `${pepper.id}:${pepper.secret}`,
    TEMPORAL_UI_URL: 'http://127.0.0.1:8233/',
  }
  return {
    pool: database.pool,
    attempts: await createTestAttempts(database.pool),
    environment,
    run: (...args) => runDarkroom(args, environment),
    json: (...args) => darkroomJson(args, environment),
    close: async () => {
      await database.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Opens a `CliWorld` before the tests of the calling file, and closes it after them. */
export function useCliWorld(): Omit<CliWorld, 'close'> {
  return useOpened(openCliWorld, ({ close }) => close(), [
    'pool',
    'attempts',
    'environment',
    'run',
    'json',
  ])
}

/** Inserts a task and fails it with `upstream_error`. */
export async function insertFailedTask(
  { pool, attempts }: Pick<CliWorld, 'pool' | 'attempts'>,
  accountId?: string,
): Promise<InsertedTask> {
  const inserted = await insertTask(pool, defined({ accountId }))
  const failure = { code: 'upstream_error', cause: 'unknown', workPossible: true } as const
  await attempts.failTask(inserted.taskId, failure, 0)
  return inserted
}
