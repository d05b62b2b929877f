/**
 * Loaded into a process by `node --import`. Appends to the file TURNS_FILE how long the longest turn of the event
 * loop was in each second: `<pid> <milliseconds>`. Counts the CPU time of the main thread, so other processes of
 * the machine do not count.
 */
import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env['TURNS_FILE']

function threadMicros(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

if (isMainThread && file !== undefined) {
  let atMicros = threadMicros()
  let longestMicros = 0
  // A timer of 1 ms fires once in each turn at most, and does not keep an idle process busy.
  setInterval(() => {
    const nowMicros = threadMicros()
    longestMicros = Math.max(longestMicros, nowMicros - atMicros)
    atMicros = nowMicros
  }, 1).unref()
  setInterval(() => {
    appendFileSync(file, `${process.pid} ${Math.round(longestMicros / 1000)}\n`)
    longestMicros = 0
  }, 1_000).unref()
}
