import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { migrate, requireSchema } from '../../src/store/schema/migrate.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { textOf } from '../support/sourceFiles.ts'

const database = useTestDatabase()
const actor = 'cli:test@host'
const folder = 'src/store/schema/migrations'
/** The SHA-256 of each migration as it was released. Databases that applied it refuse another one. */
const released: Readonly<Record<string, string>> = {
  '000001.sql': '148636dfb16bef93417834ce331c0c9435d500287aeebacf959073a6330f7074',
}

/** Replaces the migrated schema by an empty one. */
async function startOver(): Promise<void> {
  await database.pool.query('drop schema public cascade; create schema public')
}

describe('migrate', () => {
  it('has every migration as it was released', () => {
    const digest = (name: string) =>
      createHash('sha256')
        .update(textOf(`${folder}/${name}`))
        .digest('hex')
    const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
    expect(Object.fromEntries(names.map((name) => [name, digest(name)]))).toEqual(released)
  })

  it('applies each migration once when many processes migrate at once', async () => {
    await startOver()
    const { databaseUrl } = database
    const all = await Promise.all([1, 2, 3, 4, 5, 6].map(() => migrate({ databaseUrl, actor })))
    const applied = all.flatMap((one) => one.applied)
    expect(applied.length).toBeGreaterThan(0)
    expect(new Set(applied).size).toBe(applied.length)
    expect(await migrate({ databaseUrl, actor })).toEqual({ applied: [] })
  })

  it('leaves the queue for a locked table between its tries, and migrates when the lock is free', async () => {
    await startOver()
    const { databaseUrl, pool } = database
    await migrate({ databaseUrl, actor })
    const holder = await pool.connect()
    await holder.query('begin; lock table schema_migration in access exclusive mode')
    const migrating = migrate({ databaseUrl, actor })
    const waiting = async () => {
      const { rowCount } = await pool.query(
        `select from pg_stat_activity where datname = current_database()
           and application_name = 'darkroom-migrate' and wait_event_type = 'Lock'`,
      )
      return rowCount === 1
    }
    await expect.poll(waiting).toBe(true)
    await expect.poll(waiting).toBe(false)
    await holder.query('rollback')
    holder.release()
    expect(await migrating).toEqual({ applied: [] })
  })

  it('refuses when a migration was changed after it was applied', async () => {
    await startOver()
    const { databaseUrl } = database
    await migrate({ databaseUrl, actor })
    await database.pool.query(`update schema_migration set checksum = 'other' where version = 1`)
    await expect(migrate({ databaseUrl, actor })).rejects.toThrow(/000001\.sql was changed/)
  })
})

describe('requireSchema', () => {
  it('accepts the schema that the process needs, and a newer one', async () => {
    await startOver()
    await migrate({ databaseUrl: database.databaseUrl, actor })
    await expect(requireSchema(database.pool)).resolves.toBeUndefined()
    await database.pool.query(
      `insert into schema_migration (version, name, checksum) values (999999, 'later', '')`,
    )
    await expect(requireSchema(database.pool)).resolves.toBeUndefined()
  })
})
