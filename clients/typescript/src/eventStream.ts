import { DarkroomError } from './darkroomError.ts'

export type StreamEvent = { readonly id: string; readonly data: string }

/**
 * Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). The service sends a
 * comment each 15 seconds, so throws when nothing comes for `silenceMs`: the connection is gone.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  silenceMs: number,
): AsyncGenerator<StreamEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read(), silenceMs)
      if (done) return
      text += decoder.decode(value, { stream: true })
      const blocks = text.split(/\r?\n\r?\n/)
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = eventOf(block)
        if (event !== undefined) yield event
      }
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}

async function withinSilence<Value>(reading: Promise<Value>, silenceMs: number): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    const error = new DarkroomError('The stream of events fell silent.', { code: 'no_answer' })
    timer = setTimeout(() => reject(error), silenceMs)
  })
  try {
    return await Promise.race([reading, silence])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the event in a block of lines, or `undefined` for a block of comments. */
function eventOf(block: string): StreamEvent | undefined {
  // Data may have U+2028, which ends a line in a pattern, but not in a stream of events.
  const lines = block.split(/\r?\n/).map((line) => /^(\w+): ?(.*)$/s.exec(line))
  const fieldsOf = (name: string) =>
    lines.filter((line) => line?.[1] === name).map((line) => line?.[2] ?? '')
  const data = fieldsOf('data')
  return data.length === 0 ? undefined : { id: fieldsOf('id').at(-1) ?? '', data: data.join('\n') }
}
