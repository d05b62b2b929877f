import { describe, expect, it } from 'vitest'
import { reached } from '../../src/wiring/databases.ts'

const pooled = 'postgres://darkroom:hidden-password@pooler.example:6432/darkroom'
const own = 'postgres://darkroom:hidden-password@postgres.example:5432/darkroom'

describe('a database that cannot be reached', () => {
  const database = { url: own, variable: 'DATABASE_SESSION_URL' } as const

  it('is named with its variable and without its password', async () => {
    const refused = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' })
    await expect(reached(database, () => Promise.reject(refused))).rejects.toThrow(
      /^PostgreSQL at postgres\.example:5432 \(DATABASE_SESSION_URL\) cannot be reached: connect refused$/,
    )
  })

  it('is named with the folder of its Unix socket', async () => {
    const missing = Object.assign(new Error('connect ENOENT'), { code: 'ENOENT' })
    const url = 'postgres://darkroom:hidden-password@%2Frun%2Fpostgresql:5432/darkroom'
    const main = { url, variable: 'DATABASE_URL' } as const
    await expect(reached(main, () => Promise.reject(missing))).rejects.toThrow(
      'PostgreSQL at /run/postgresql:5432 (DATABASE_URL) cannot be reached: connect ENOENT',
    )
  })

  it('is named with the variable to set when a pooler refuses a setting', async () => {
    const refusal = 'unsupported startup parameter: statement_timeout'
    const refused = Object.assign(new Error(refusal), { code: '08P01' })
    const main = { url: pooled, variable: 'DATABASE_URL' } as const
    await expect(reached(main, () => Promise.reject(refused))).rejects.toThrow(
      `A pooler before PostgreSQL at pooler.example:6432 (DATABASE_URL) refuses the connection. Set DATABASE_SESSION_URL to PostgreSQL itself: ${refusal}`,
    )
  })
})
