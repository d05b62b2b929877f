import type { z } from 'zod'
import type { HeaderUse } from './answers/answerHeaders.ts'
import { sendJson } from './answers/sendBody.ts'
import type { AccountRoute } from './authenticate.ts'
import { accountRoute } from './authenticate.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { ApiParts } from './apiParts.ts'
import type { HttpFailure } from './errors.ts'
import type { Route, RouteContext } from './route.ts'
import type { InputSchema } from './intake/receiveInput.ts'
import { describeInput, receiveInput } from './intake/receiveInput.ts'
import { json } from './route.ts'
import { wrongPathId } from './intake/wrongPathId.ts'
import type { Result } from '../domain/result.ts'
import { noFields } from '../schema/parseFields.ts'

// The routes beside the API contract that need an API key. They refuse every name that they do not know, in the query
// and in the body; the routes of the contract ignore query parameters.

type Declaration<Input> = Omit<AccountRoute, 'extension' | 'query' | 'body' | 'handler'> & {
  /** Absent for a route that takes none. */
  readonly input?: InputSchema<Input>
  /** Gets the checked input of its request, and ids of the right form in its path. */
  readonly handler: (
    parts: ApiParts,
  ) => (context: RouteContext, caller: Caller, input: Input) => Promise<HttpFailure | undefined>
}

/** Makes a route of the extensions. `input` is checked, and then passed to the handler. */
export function extensionRoute<Input>(declaration: Declaration<Input>): Route<ApiParts>
export function extensionRoute({
  input = noFields,
  handler,
  errors = [],
  ...declaration
}: Declaration<object>): Route<ApiParts> {
  const described = describeInput(declaration.method, input)
  return accountRoute({
    ...declaration,
    ...described,
    extension: true,
    errors: [...described.errors, ...errors],
    handler: (parts) => {
      const handle = handler(parts)
      return async (context, caller) => {
        const { largeBodies } = parts
        const checked = await receiveInput(context, input, { largeBodies, payer: caller.accountId })
        if (!checked.ok) return checked.failure
        return wrongPathId(context) ?? handle(context, caller, checked.value)
      }
    },
  })
}

type JsonDeclaration<Input> = Omit<Declaration<Input>, 'answers' | 'handler'> & {
  readonly answer: readonly [status: 200 | 201 | 202, description: string, schema: z.ZodType]
  readonly answerHeaders?: readonly HeaderUse[]
  /** Returns what is sent as JSON. */
  readonly run: (
    parts: ApiParts,
    asked: { readonly context: RouteContext; readonly caller: Caller; readonly input: Input },
  ) => Promise<Result<object, HttpFailure>>
}

/** Makes a route of the extensions that answers JSON. */
export function jsonRoute<Input>({
  answer: [status, description, schema],
  answerHeaders: headers = [],
  run,
  ...declaration
}: JsonDeclaration<Input>): Route<ApiParts> {
  return extensionRoute({
    ...declaration,
    answers: { [status]: { description, headers, content: json(schema) } },
    handler: (parts) => async (context, caller, input) => {
      const result = await run(parts, { context, caller, input })
      if (!result.ok) return result.failure
      sendJson(context, status, result.value)
      return undefined
    },
  })
}
