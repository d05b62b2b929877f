import { defined } from '../../domain/defined.ts'
import type { TaskView } from '../../domain/tasks/task.ts'
import { chargedCredits } from '../../domain/tasks/task.ts'
import type { NativeResponse } from '../../domain/upstream/nativeResponse.ts'
import type { ErrorReply } from '../errorTable.ts'

/** How a stream is written, for the libraries that read it. Each has one event. */
export type StreamForm = {
  readonly contentType: 'text/event-stream' | 'application/json'
  /** What a waiting stream is sent, so that nobody on the way takes it for dead. Libraries pass over it. */
  readonly signOfLife: string
  /** The text around the JSON of an event. */
  readonly frame: (event: 'completed' | 'error') => readonly [before: string, after: string]
  /** Returns the event with the image. */
  readonly completed: (native: NativeResponse, task: TaskView) => NativeResponse
  readonly error: (error: StreamedError) => object
}

/** The answer that a call without a stream gets, and the task that it is about. */
export type StreamedError = ErrorReply & { readonly taskId?: string | undefined }

/** The streams of OpenAI's image routes (https://developers.openai.com/api/reference/resources/images). */
export function imageEvents(operation: 'image_generation' | 'image_edit'): StreamForm {
  const type = `${operation}.completed`
  return {
    contentType: 'text/event-stream',
    signOfLife: ': \n\n',
    frame: (event) => [`event: ${event === 'error' ? 'error' : type}\ndata: `, '\n\n'],
    completed: ({ response }, task) => ({
      response: {
        type,
        b64_json: '',
        ...defined({
          created_at: response['created'],
          size: response['size'],
          quality: response['quality'],
        }),
        output_format: 'png',
        background: 'auto',
        ...defined({ usage: response['usage'], credits_charged: chargedCredits(task) }),
      },
      imagePath: ['b64_json'],
    }),
    error: ({ message, type, param, code, headers = {}, taskId }) => ({
      type: 'error',
      error: {
        message,
        type,
        param,
        code,
        task_id: taskId,
        should_retry: headers['x-should-retry'] !== 'false',
        ...defined({ retry_after: secondsOf(headers) }),
      },
    }),
  }
}

/** What both streams of `streamGenerateContent` have. Their event is the native response. */
const content = {
  // A blank line: google-genai for Python takes a comment for JSON.
  signOfLife: '\n',
  completed: (native) => native,
  error: ({ status, message, code, headers = {}, taskId }) => {
    const seconds = secondsOf(headers)
    return {
      error: {
        code: status,
        message,
        status: statusNames[status] ?? 'INTERNAL',
        details: [
          detail('ErrorInfo', { reason: code, domain: 'darkroom', metadata: { task_id: taskId } }),
          ...(seconds === undefined ? [] : [detail('RetryInfo', { retryDelay: `${seconds}s` })]),
        ],
      },
    }
  },
} satisfies Partial<StreamForm>

/** With `?alt=sse`. */
export const contentEvents: StreamForm = {
  ...content,
  contentType: 'text/event-stream',
  frame: () => ['data: ', '\n\n'],
}

/** Without: an array of one response. JSON may have white space before it. */
export const contentArray: StreamForm = {
  ...content,
  contentType: 'application/json',
  frame: () => ['[', ']'],
}

/** Google's names of statuses (https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto). */
const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
}

/** Returns a detail of an error (https://cloud.google.com/apis/design/errors). */
function detail(type: 'ErrorInfo' | 'RetryInfo', fields: object): object {
  return { '@type': `type.googleapis.com/google.rpc.${type}`, ...fields }
}

function secondsOf(headers: NonNullable<ErrorReply['headers']>): number | undefined {
  const given = headers['Retry-After']
  return given === undefined ? undefined : Number(given)
}
