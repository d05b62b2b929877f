/** Whether a file system error carries one of these codes, `ENOENT` and the like. */
export function isErrnoCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    codes.includes(error.code)
  )
}
