/** Prints one line that stays. */
export type Say = (line: string) => void

/**
 * Shows the progress of something slow, in place of what was shown before. `stage` says what is under way, and `detail`
 * how far it is.
 */
export type Show = (stage: string, detail?: string) => void

const redrawMs = 500
/** Output that is no terminal may be kept as a log, where every state is a line of its own. */
const logMs = 10_000
const clearLine = '\r\u001B[K'

/**
 * Prints to a terminal or to a log. On a terminal, the cursor stands at the beginning of the shown line, so that lines
 * of other processes on the same terminal are written over it and not behind it. `onShow` gets what is shown.
 */
export function createTerminal(
  stream: NodeJS.WriteStream,
  onShow: (text: string) => void = () => {},
): { readonly say: Say; readonly show: Show } {
  let shown = { stage: '', atMs: 0 }
  const clear = stream.isTTY ? clearLine : ''
  return {
    say: (line) => void stream.write(`${clear}${line}\n`),
    show: (stage, detail) => {
      const atMs = performance.now()
      const pauseMs = stream.isTTY ? redrawMs : logMs
      if (stage === shown.stage && atMs - shown.atMs < pauseMs) return
      shown = { stage, atMs }
      onShow(detail === undefined ? stage : `${stage}: ${detail}`)
      const text = detail === undefined ? `${stage}…` : `${stage}: ${detail}`
      stream.write(stream.isTTY ? `${clear}${text.slice(0, stream.columns - 1)}\r` : `${text}\n`)
    },
  }
}
