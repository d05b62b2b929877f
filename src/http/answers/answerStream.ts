import type { TaskView } from '../../domain/tasks/task.ts'
import type { NativeResponse } from '../../domain/upstream/nativeResponse.ts'
import { splitAtImage } from '../../domain/upstream/nativeResponse.ts'
import type { ApiContext } from '../requestState.ts'
import type { StreamForm } from './streamForms.ts'

export type StreamTimes = { readonly beginMs: number; readonly signMs: number }

/**
 * What fails within 5 s has its status, because libraries obey statuses and not events. Proxies and CDNs end a connection
 * that is silent for 30 s or more.
 */
export const streamTimesDefault: StreamTimes = { beginMs: 5_000, signMs: 10_000 }

export type AnswerStream = ReturnType<typeof openStream>

/**
 * Opens the stream of one answer. It begins with its event, or after `beginMs` with a sign of life, which is sent again
 * each `signMs` until the event begins. From its beginning on, `writeFailure` makes an error its event. The caller closes
 * it, which ends the signs.
 */
export function openStream(
  context: ApiContext,
  form: StreamForm,
  { beginMs, signMs }: StreamTimes,
) {
  const { res, state } = context
  let timer = setTimeout(begin, beginMs)

  function begin(): void {
    writeHead()
    state.stream = { end: (error) => end('error', form.error({ ...error, taskId: state.taskId })) }
    sendSign()
    timer = setInterval(sendSign, signMs)
  }

  function sendSign(): void {
    if (!res.destroyed) res.write(form.signOfLife)
  }

  /** A second call changes nothing: Koa leaves a head alone that is sent. */
  function writeHead(): void {
    context.status = 200
    context.set(headers)
    context.respond = false
  }

  function beginEvent(): void {
    close()
    delete state.stream
  }

  /** Sends the event and ends the stream. */
  function end(event: 'completed' | 'error', content: object): void {
    beginEvent()
    writeHead()
    const [before, after] = form.frame(event)
    if (!res.destroyed) res.end(before + onOneLine(JSON.stringify(content)) + after)
  }

  function close(): void {
    clearTimeout(timer)
  }

  const headers = { 'Content-Type': form.contentType, 'X-Accel-Buffering': 'no' }
  return {
    headers,
    end,
    close,
    /** Call this before the first byte of an event that `end` does not send. */
    beginEvent,
    /** Returns the text of the event with the image, around the Base64. */
    aroundImage: (native: NativeResponse, task: TaskView) => {
      const [start, rest] = form.frame('completed')
      const { before, after } = splitAtImage(form.completed(native, task))
      return { before: start + onOneLine(before), after: onOneLine(after) + rest }
    },
  }
}

/** Escapes what some libraries take for the end of a line, although the format of events does not. */
function onOneLine(json: string): string {
  return json.replaceAll(
    /[\u0085\u2028\u2029]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
