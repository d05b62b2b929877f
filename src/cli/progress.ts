/** Where progress goes. On a terminal one line is rewritten. Any other stream gets a new line every ten seconds. */
export type ProgressStream = {
  readonly write: (text: string) => void
  readonly isTerminal: boolean
}

const terminalEveryMs = 500
const lineEveryMs = 10_000
/** Goes to the start of the line and clears it (ECMA-48: EL). */
const clearLine = '\r\u001B[2K'

/**
 * Runs `work` and shows that it is still running. `text` gets the seconds since the start and returns what to show.
 * Nothing is shown of work that ends within the first interval.
 */
export async function withProgress<Value>(
  stream: ProgressStream,
  text: (seconds: number) => string,
  work: () => Promise<Value>,
): Promise<Value> {
  const { isTerminal, write } = stream
  const startedAtMs = performance.now()
  let shown = false
  const show = (): void => {
    const line = text(Math.round((performance.now() - startedAtMs) / 1000))
    write(isTerminal ? `${clearLine}${line}` : `${line}\n`)
    shown = true
  }
  const timer = setInterval(show, isTerminal ? terminalEveryMs : lineEveryMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (shown && isTerminal) write(clearLine)
  }
}
