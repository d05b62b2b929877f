/** Ends every switch over a union: a member without a case fails the type check, and throws at run time. */
export function assertNever(value: never): never {
  throw new Error(`Bug: unhandled case ${JSON.stringify(value)}`)
}
