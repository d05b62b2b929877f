const terminalEveryMs = 500
const lineEveryMs = 10_000
/** Goes to the start of the line and clears it (ECMA-48: EL). */
const clearLine = '\r\u001B[2K'

/**
 * Runs `work` and shows on `err` that it is still running: on a terminal one line is rewritten, anywhere else a line
 * is added every ten seconds. `text` gets the seconds since the start. Short work shows nothing.
 */
export async function withProgress<Value>(
  { err, isTerminal }: { readonly err: (text: string) => void; readonly isTerminal: boolean },
  text: (seconds: number) => string,
  work: () => Promise<Value>,
): Promise<Value> {
  const startedAtMs = performance.now()
  let shown = false
  const show = () => {
    const line = text(Math.round((performance.now() - startedAtMs) / 1000))
    err(isTerminal ? `${clearLine}${line}` : `${line}\n`)
    shown = true
  }
  const timer = setInterval(show, isTerminal ? terminalEveryMs : lineEveryMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (shown && isTerminal) err(clearLine)
  }
}
