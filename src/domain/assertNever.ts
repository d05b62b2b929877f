/** Ends every switch over a union: a new member fails the type check here, a bug at run time throws. */
export function assertNever(value: never): never {
  throw new Error(`Bug: unhandled case ${JSON.stringify(value)}`)
}
