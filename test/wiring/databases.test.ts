import { expect, it } from 'vitest'
import { reached } from '../../src/wiring/databases.ts'

const setting = 'unsupported startup parameter: statement_timeout'

it.each([
  [
    'postgres.example:5432',
    'ECONNREFUSED',
    'connect refused',
    'PostgreSQL at postgres.example:5432 (DATABASE_URL) cannot be reached: connect refused',
  ],
  [
    '%2Frun%2Fpostgresql:5432',
    'ENOENT',
    'connect ENOENT',
    'PostgreSQL at /run/postgresql:5432 (DATABASE_URL) cannot be reached: connect ENOENT',
  ],
  [
    'pooler.example:6432',
    '08P01',
    setting,
    `A pooler before PostgreSQL at pooler.example:6432 (DATABASE_URL) refuses the connection. Set DATABASE_SESSION_URL to PostgreSQL itself: ${setting}`,
  ],
])(
  'a database at %s that answers %s is named with its variable and what to do, without its password',
  async (host, code, message, expected) => {
    const url = `postgres://darkroom:hidden-password@${host}/darkroom`
    const failing = () => Promise.reject(Object.assign(new Error(message), { code }))
    await expect(reached({ url, variable: 'DATABASE_URL' }, failing)).rejects.toThrow(
      new Error(expected),
    )
  },
)
