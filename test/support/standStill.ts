/** As SIGSTOP does, for this thread: nothing of it goes on. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
