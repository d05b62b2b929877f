import type {
  Account,
  Estimate,
  EstimateRequest,
  GetUsageQuery,
  ModelList,
  Usage,
} from './apiTypes.ts'
import type { CallOptions } from './callOptions.ts'
import { createCaller, pathWith } from './callOptions.ts'
import { createImages } from './images.ts'
import { environmentVariable } from './runtime.ts'
import { createTasks } from './tasks.ts'
import type { Try } from './transport.ts'
import { createTransport } from './transport.ts'
import { createWebhooks } from './webhooks.ts'

export type DarkroomOptions = {
  /** The address of the service, such as `https://images.example`. Default: DARKROOM_URL. */
  readonly baseUrl?: string | undefined
  /** Default: DARKROOM_API_KEY. */
  readonly apiKey?: string | undefined
  /** How long a call may take, repeats and waiting included. Default: 45 minutes. */
  readonly timeoutMs?: number | undefined
  /** How often a request is repeated at most. Default: 4. */
  readonly retriesMax?: number | undefined
  /** Sends the requests. */
  readonly fetch?: typeof fetch | undefined
  /** Is told of each HTTP request with its answer, for logs. It must not throw. */
  readonly onTry?: ((seen: Try) => void) | undefined
}

const defaultTimeoutMs = 45 * 60_000
const defaultRetriesMax = 4

/**
 * A client of Darkroom. Each purchase has an idempotency key, so no repeat buys twice. Requests and records have the
 * fields of the API; failures are `DarkroomError`.
 */
export class Darkroom {
  readonly tasks: ReturnType<typeof createTasks>
  readonly images: ReturnType<typeof createImages>
  readonly webhooks: ReturnType<typeof createWebhooks>
  readonly models: { readonly list: (options?: CallOptions) => Promise<ModelList> }
  readonly account: { readonly get: (options?: CallOptions) => Promise<Account> }
  readonly usage: {
    readonly get: (query?: GetUsageQuery, options?: CallOptions) => Promise<Usage>
  }
  /** Says what a request would cost, and whether it would be accepted now. It buys nothing. */
  readonly estimate: (request: EstimateRequest, options?: CallOptions) => Promise<Estimate>

  constructor(options: DarkroomOptions = {}) {
    const transport = createTransport({
      baseUrl: options.baseUrl ?? environmentVariable('DARKROOM_URL') ?? '',
      apiKey: (options.apiKey ?? environmentVariable('DARKROOM_API_KEY') ?? '').trim(),
      // Browsers refuse to call `fetch` as the method of another object.
      fetch: options.fetch ?? ((...sent) => fetch(...sent)),
    })
    const { timeoutMs = defaultTimeoutMs, retriesMax = defaultRetriesMax, onTry } = options
    const caller = createCaller(transport, { timeoutMs, retriesMax, onTry })
    const get = <Body>(path: string, given: CallOptions = {}) =>
      caller.json<Body>({ method: 'GET', path }, given)
    this.tasks = createTasks(caller)
    this.images = createImages(caller)
    this.webhooks = createWebhooks(caller)
    this.models = { list: (given) => get('/v1/models', given) }
    this.account = { get: (given) => get('/v1/account', given) }
    this.usage = { get: (query = {}, given) => get(pathWith('/v1/usage', query), given) }
    this.estimate = (request, given = {}) =>
      caller.json(
        {
          method: 'POST',
          path: '/v1/estimate',
          json: JSON.stringify(request),
        },
        given,
      )
  }
}

export { DarkroomError } from './darkroomError.ts'
export type * from './apiTypes.ts'
export type { CallOptions } from './callOptions.ts'
export type { EditRequest, GenerateRequest, ImageOptions } from './images.ts'
export type { Page, Rows } from './pages.ts'
export type { Picture, Variant } from './picture.ts'
export type { DeliveryHeaders } from './signature.ts'
export type { SourceImage } from './sourceImage.ts'
export type { AcceptedTask, CreateOptions, WaitOptions } from './tasks.ts'
export type { Try } from './transport.ts'
export type { TaskProgress, TaskRecord } from './waiting.ts'
export type { WebhookEvent } from './webhooks.ts'
