/** For `catch`: throws the same failure behind a sentence that names the variable it depends on. */
export function explaining(what: string): (error: unknown) => never {
  return (error) => {
    const reason =
      error instanceof Error && error.message !== '' ? error.message : 'no reason given'
    throw new Error(`${what}: ${reason}`, { cause: error })
  }
}
