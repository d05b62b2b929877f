import { z } from 'zod'
import type { AdminCaller } from './authorize.ts'
import type { AdminParts, AdminRoute } from './adminParts.ts'
import { assertNever } from '../domain/assertNever.ts'
import { inputMimeTypes } from '../domain/models/models.ts'
import { fail, succeed } from '../domain/result.ts'
import { sendJson, sendStream } from '../http/answers/sendBody.ts'
import type { HttpFailure } from '../http/errors.ts'
import type { Answer, Route, RouteContext } from '../http/route.ts'
import type { ErrorName } from '../http/errorTable.ts'
import type { InputSchema } from '../http/intake/receiveInput.ts'
import { describeInput, receiveInput } from '../http/intake/receiveInput.ts'
import { json } from '../http/route.ts'
import { camelCase } from '../http/router.ts'
import { wrongPathId } from '../http/intake/wrongPathId.ts'
import type { Done, OperationFailure } from '../operations/operation.ts'
import { failureText } from '../operations/operation.ts'
import type { Operator } from '../operations/operator.ts'
import type { StoredImage } from '../operations/taskContents.ts'
import { noFields, parseFields } from '../schema/parseFields.ts'

type Declaration<Params, Input> = Pick<Route, 'method' | 'path' | 'id' | 'summary'> & {
  readonly description?: string
  /** The parameters of the path, by their names there. */
  readonly params?: InputSchema<Params>
  /** The query of a GET, and the JSON body of other methods. */
  readonly input?: InputSchema<Input>
  /** Whose key it needs. Default: a viewer's for GET, an operator's for other methods. */
  readonly access?: AdminCaller['role']
  /** Errors besides those of the input, and besides `not_found` of a path with parameters. */
  readonly errors?: readonly ErrorName[]
  /** Codes with which the operation may be refused. */
  readonly refusals?: readonly string[]
}

/** A request whose key, parameters and input are checked. */
type Asked<Params, Input> = {
  /** Who asks, and all that operations work with. */
  readonly operator: Operator
  readonly caller: AdminCaller
  readonly params: Params
  readonly input: Input
}

/** Makes a route that answers JSON, or CSV where the request prefers that. */
export function adminRoute<Params, Input>({
  answer: [status, description, schema],
  run,
  csv,
  ...declaration
}: Declaration<Params, Input> & {
  readonly answer: readonly [status: 200 | 201, description: string, schema: z.ZodType]
  /** Does what the route is for. */
  readonly run: (asked: Asked<Params, Input>) => Done<object>
  readonly csv?: (asked: Asked<Params, Input>) => Done<string>
}): AdminRoute {
  const content = { ...json(schema), ...(csv === undefined ? {} : { 'text/csv': z.string() }) }
  return route(declaration, { [status]: { description, content } }, async (context, asked) => {
    if (csv !== undefined) {
      context.vary('Accept')
      if (context.accepts('application/json', 'text/csv') === 'text/csv') {
        const text = await csv(asked)
        if (!text.ok) return failureOf(text.failure)
        context.set('Content-Type', 'text/csv; charset=utf-8')
        context.body = text.value
        return undefined
      }
    }
    const result = await run(asked)
    if (!result.ok) return failureOf(result.failure)
    sendJson(context, status, result.value)
    return undefined
  })
}

const bytes = z.string().meta({ format: 'binary' })

/** Makes a route that answers with an image. A browser that opens it runs nothing in it. */
export function imageRoute<Params, Input>({
  run,
  ...declaration
}: Declaration<Params, Input> & {
  readonly run: (asked: Asked<Params, Input>) => Done<StoredImage>
}): AdminRoute {
  const answers: Readonly<Record<number, Answer>> = {
    200: {
      description: 'The image.',
      headers: ['Content-Security-Policy'],
      content: Object.fromEntries(inputMimeTypes.map((type) => [type, bytes])),
    },
  }
  return route(declaration, answers, async (context, asked) => {
    const image = await run(asked)
    if (!image.ok) return failureOf(image.failure)
    const { mimeType, bytes: contentLength, blob } = image.value
    const headers = {
      'Content-Type': mimeType,
      'Content-Security-Policy': "sandbox; default-src 'none'",
    }
    await sendStream(context, {
      status: 200,
      headers,
      contentLength,
      open: async () => blob,
    }).finally(blob.close)
    return undefined
  })
}

/** Makes a route that checks the key, the parameters and the input before it answers. */
function route<Params, Input>(
  declaration: Declaration<Params, Input>,
  answers: Readonly<Record<number, Answer>>,
  answer: (context: RouteContext, asked: Asked<Params, Input>) => Promise<HttpFailure | undefined>,
): AdminRoute
function route(
  declaration: Declaration<object, object>,
  answers: Readonly<Record<number, Answer>>,
  answer: (context: RouteContext, asked: Asked<object, object>) => Promise<HttpFailure | undefined>,
): AdminRoute {
  const { params = noFields, input = noFields, errors = [], ...rest } = declaration
  const { method, access = method === 'GET' ? 'viewer' : 'operator' } = rest
  const described = describeInput(method, input)
  const names = Object.keys(params.shape)
  const ofPath: readonly ErrorName[] = names.length > 0 ? ['invalid_value', 'not_found'] : []
  return {
    ...rest,
    ...described,
    params: params.shape,
    access,
    answers,
    errors: [...described.errors, ...ofPath, ...errors],
    handler: (parts) => async (context) => {
      const caller = parts.authorize(context.req, access)
      if (!caller.ok) return caller.failure
      context.state.keyId = caller.value.keyId
      const asked = await receive(parts, context, caller.value.keyId)
      if (!asked.ok) return asked.failure
      const operator = parts.operatorOf(caller.value.keyId)
      return answer(context, { operator, caller: caller.value, ...asked.value })
    },
  }

  async function receive({ largeBodies }: AdminParts, context: RouteContext, payer: string) {
    const wrongId = wrongPathId(context)
    if (wrongId !== undefined) return fail(wrongId)
    const given = Object.fromEntries(names.map((name) => [name, context.params[camelCase(name)]]))
    const path = parseFields(params, given)
    if (!path.ok) return path
    const received = await receiveInput(context, input, { largeBodies, payer })
    return received.ok ? succeed({ params: path.value, input: received.value }) : received
  }
}

function failureOf(failure: OperationFailure): HttpFailure {
  switch (failure.kind) {
    case 'not_found':
      return { tag: 'no_such', message: failureText(failure) }
    case 'refused': {
      const { kind: _kind, ...refusal } = failure
      return { tag: 'operation_refused', ...refusal }
    }
    default:
      return assertNever(failure)
  }
}
