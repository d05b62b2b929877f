/**
 * Returns a handler for `catch`. The handler throws the error again, with `what` before its message. `what` names
 * the variable of the environment, so that the operator knows what to change.
 */
export function explaining(what: string): (error: unknown) => never {
  return (error) => {
    const reason =
      error instanceof Error && error.message !== '' ? error.message : 'no reason given'
    throw new Error(`${what}: ${reason}`, { cause: error })
  }
}
