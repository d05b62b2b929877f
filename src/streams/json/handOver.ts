/**
 * Hands chunks from a writer to one reader, one at a time: `write` settles when the reader asks for
 * more, so a slow reader (a disk) holds the writer (a socket) back and nothing piles up between them.
 */
type HandOver = {
  readonly content: AsyncIterable<Uint8Array>
  /** False when the reader has left: the rest is unwanted. */
  readonly write: (chunk: Uint8Array) => Promise<boolean>
  readonly end: () => void
  /** The reader's next read rejects with `reason`. */
  readonly fail: (reason: Error) => void
  /** The reader will not come back: pending and later writes settle as unwanted. */
  readonly leave: () => void
}

type Step = IteratorResult<Uint8Array, undefined>
type Waiting = { readonly resolve: (step: Step) => void; readonly reject: (reason: Error) => void }

const finished: Step = { done: true, value: undefined }

export function createHandOver(): HandOver {
  let offered: { readonly chunk: Uint8Array; readonly taken: (wanted: boolean) => void } | undefined
  let waiting: Waiting | undefined
  let acknowledge: ((wanted: boolean) => void) | undefined
  let state: 'open' | 'ended' | 'left' | Error = 'open'

  function write(chunk: Uint8Array): Promise<boolean> {
    if (state !== 'open') return Promise.resolve(false)
    return new Promise((taken) => {
      if (waiting === undefined) offered = { chunk, taken }
      else {
        acknowledge = taken
        waiting.resolve({ done: false, value: chunk })
        waiting = undefined
      }
    })
  }

  function next(): Promise<Step> {
    // Asking again says that the chunk before has been dealt with.
    acknowledge?.(true)
    acknowledge = undefined
    if (state instanceof Error) return Promise.reject(state)
    if (offered !== undefined) {
      const { chunk, taken } = offered
      offered = undefined
      acknowledge = taken
      return Promise.resolve({ done: false, value: chunk })
    }
    if (state !== 'open') return Promise.resolve(finished)
    return new Promise((resolve, reject) => {
      waiting = { resolve, reject }
    })
  }

  function close(to: 'ended' | 'left' | Error): void {
    if (state !== 'open') return
    state = to
    offered?.taken(false)
    acknowledge?.(false)
    offered = undefined
    acknowledge = undefined
    if (to instanceof Error) waiting?.reject(to)
    else waiting?.resolve(finished)
    waiting = undefined
  }

  async function stopReading(): Promise<Step> {
    close('left')
    return finished
  }

  return {
    content: { [Symbol.asyncIterator]: () => ({ next, return: stopReading }) },
    write,
    end: () => close('ended'),
    fail: close,
    leave: () => close('left'),
  }
}
