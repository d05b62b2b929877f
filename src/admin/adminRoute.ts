import { assertNever } from '../domain/assertNever.ts'
import type { z } from 'zod'
import type { AdminCaller } from './authorize.ts'
import type { AdminRoute } from './context.ts'
import type { Result } from '../domain/result.ts'
import { sendJson } from '../http/answers/sendBody.ts'
import type { HttpFailure, RouteContext } from '../http/context.ts'
import type { InputSchema } from '../http/intake/receiveInput.ts'
import { describeInput, receiveInput } from '../http/intake/receiveInput.ts'
import type { DescribedRoute } from '../http/route.ts'
import { json } from '../http/route.ts'
import { camelCase } from '../http/router.ts'
import { parseFields } from '../schema/extensionRequest.ts'

type Declaration<Params, Input> = Pick<DescribedRoute, 'method' | 'path' | 'id' | 'summary'> & {
  readonly tag: keyof typeof adminTags
  readonly description?: string
  /** The parameters of the path, by their names there. */
  readonly params: InputSchema<Params>
  /** The query of a GET, and the JSON body of other methods. */
  readonly input: InputSchema<Input>
  /** Whose key it needs. Default: a viewer's for GET, an operator's for other methods. */
  readonly access?: AdminCaller['role']
  readonly answer: readonly [status: 200 | 201, description: string, schema: z.ZodType]
  /** Codes with which the operation may be refused, besides those of the input. */
  readonly refusals?: readonly string[]
  /** Does what the route is for. */
  readonly run: (asked: {
    readonly params: Params
    readonly input: Input
    readonly caller: AdminCaller
  }) => Promise<Result<object, OperationFailure>>
}

/** Makes a route of the admin API. The key, the parameters and the input are checked before it runs. */
export function adminRoute<Params, Input>(declaration: Declaration<Params, Input>): AdminRoute {
  const { params, input, answer, refusals = [], run, ...rest } = declaration
  const { method, access = method === 'GET' ? 'viewer' : 'operator' } = rest
  const [status, description, schema] = answer
  const described = describeInput(method, input)
  const names = Object.keys(params.shape)
  return {
    ...rest,
    ...described,
    params: params.shape,
    access,
    envelope: 'full',
    answers: { [status]: { description, content: json(schema) } },
    errors: [...described.errors, ...(names.length > 0 ? (['not_found'] as const) : [])],
    refusals,
    handler:
      ({ authorize, largeBodies }) =>
      async (context) => {
        const caller = authorize(context.req, access)
        if (!caller.ok) return caller.failure
        const { keyId: payer } = caller.value
        context.state.keyId = payer
        const path = parseFields(params, paramsOf(context, names))
        if (!path.ok) return path.failure
        const received = await receiveInput(context, input, { largeBodies, payer })
        if (!received.ok) return received.failure
        const asked = { params: path.value, input: received.value, caller: caller.value }
        const result = await run(asked)
        if (!result.ok) return failureOf(result.failure)
        sendJson(context, status, result.value)
        return undefined
      },
  }
}

/** The groups of routes, in the order in which readers see them. */
export const adminTags = {
  Service: 'Who asks, and whether the process works.',
} as const

function paramsOf({ params }: RouteContext, names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, params[camelCase(name)]]))
}

function failureOf(failure: OperationFailure): HttpFailure {
  switch (failure.kind) {
    case 'not_found':
      return { tag: 'no_such', message: `There is no ${failure.what}.` }
    case 'refused': {
      const { kind: _kind, ...refusal } = failure
      return { tag: 'operation_refused', ...refusal }
    }
    default:
      return assertNever(failure)
  }
}

/** Why an operation was not done. */
type OperationFailure =
  | { readonly kind: 'not_found'; readonly what: string }
  | {
      readonly kind: 'refused'
      readonly code: string
      readonly message: string
      readonly param?: string
    }
