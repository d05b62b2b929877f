/** Who waits, in the order of their arrival. Who is called has left the queue. */
export type Queue = (() => void)[]

/** Waits at the end of a queue. Resolves to true when called, and to false when the signal aborts. */
export function waitIn(queue: Queue, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const called = () => {
      signal?.removeEventListener('abort', leave)
      resolve(true)
    }
    const leave = () => {
      queue.splice(queue.indexOf(called), 1)
      resolve(false)
    }
    queue.push(called)
    signal?.addEventListener('abort', leave, { once: true })
    if (signal?.aborted === true) leave()
  })
}
