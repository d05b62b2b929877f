import type { Result } from '../domain/result.ts'
import type { ErrorReading } from './errorAnswer.ts'
import type { ModelAnswer } from './readModelAnswer.ts'

/** What one answer says, read while it arrives. */
export type AnswerReading =
  | {
      readonly kind: 'ok'
      readonly read: Result<ModelAnswer, 'broken_body' | 'answer_too_large'>
    }
  | { readonly kind: 'error'; readonly error: ErrorReading }
