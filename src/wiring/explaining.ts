/**
 * Returns a handler for `catch`. The handler throws the error again, as another kind if one is given, with `what` before
 * its message. `what` names the variable of the environment, so that the operator knows what to change.
 */
export function explaining(
  what: string,
  Kind: new (message: string, options: ErrorOptions) => Error = Error,
): (error: unknown) => never {
  return (error) => {
    const reason =
      error instanceof Error && error.message !== '' ? error.message : 'no reason given'
    throw new Kind(`${what}: ${reason}`, { cause: error })
  }
}
