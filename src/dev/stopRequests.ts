/**
 * npm forwards a Ctrl-C that the terminal has sent already. What arrives within this time is the same request.
 */
const sameRequestMs = 300
const parentPollMs = 250

/**
 * Hears of every way in which a person ends `npm start`. The first request calls `stop`. A second Ctrl-C or SIGTERM exits
 * at once, and what still runs ends with this process.
 *
 * A closed terminal is at most one request, and never the second one: kernel and shell send up to three SIGHUPs for it,
 * and each write fails too. The same holds when the reader of the output, such as `head`, has gone.
 */
export function onStopRequest(stop: () => void): void {
  let requests = 0
  let lastAtMs = -Infinity
  const onSignal = () => {
    const nowMs = performance.now()
    const isRepeat = nowMs - lastAtMs < sameRequestMs
    lastAtMs = nowMs
    if (isRepeat) return
    requests += 1
    if (requests > 1) process.exit(1)
    stop()
  }
  const onClosed = () => {
    if (requests === 0) onSignal()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  process.on('SIGHUP', onClosed)
  // Other failures, such as a full disk under a log, only lose lines.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EIO' || code === 'EPIPE') onClosed()
  })
  exitWithParent(() => requests > 0)
}

/** With `--with PID`, exits when that process, the parent, has ended, unless a stop goes on. */
function exitWithParent(isStopping: () => boolean): void {
  const [flag, parent] = process.argv.slice(2)
  if (flag !== '--with') return
  const look = () => {
    if (process.ppid === Number(parent)) return
    // A closed terminal ends npm too. A signal that has arrived is heard before this runs.
    setImmediate(() => {
      if (!isStopping()) process.exit(1)
    })
  }
  look()
  setInterval(look, parentPollMs).unref()
}
