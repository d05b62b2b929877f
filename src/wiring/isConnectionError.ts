/** SQLSTATE classes 08 connection, 28 authorization, 3D no such database, 53 resources, 57 shutdown. */
const connectionStates = /^(08|28|3D|53|57)/

/** Whether PostgreSQL was not to be had, rather than asked for something wrong. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (connectionStates.test(code)) return true
  return /^E[A-Z_]+$/.test(code) || /timeout|terminated/i.test(error.message)
}
