/**
 * Ends every switch over a union. A member without a case then fails the type check. If such a member appears at
 * run time, this function throws.
 */
export function assertNever(value: never): never {
  throw new Error(`Bug: unhandled case ${JSON.stringify(value)}`)
}
