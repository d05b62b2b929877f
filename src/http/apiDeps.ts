import type { BlobStore } from '../domain/blobStore.ts'
import type { CapabilityTable } from '../domain/capabilities.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { TaskView } from '../domain/taskState.ts'
import type { TaskService } from '../tasks/taskService.ts'

/** Everything the HTTP face needs, passed in by `src/wiring/api.ts`. */
export type ApiDeps = {
  readonly tasks: TaskService
  /** A task by its id alone, for whoever holds a signed asset URL: `TaskStore.readTaskOfImage`. */
  readonly findTask: (taskId: string) => Promise<TaskView | undefined>
  /** Inputs go in here while a body is read, finished images come out of it. */
  readonly blobs: BlobStore
  readonly config: ApiConfig
  /** Sign asset URLs. */
  readonly signingKeys: SigningKeys
  readonly randomBytes: RandomBytes
  /** Answers `/readyz`; a rejection counts as false. */
  readonly ready: () => Promise<boolean>
  /** Called once per request, when its answer has been sent or its client has gone. Must not throw. */
  readonly observe?: (seen: Observation) => void
  /** Errors that are bugs or outages, with what a log needs to find the request. Must not throw. */
  readonly reportError?: (error: unknown, request: ReportedRequest) => void
}

export type ApiConfig = {
  /** Base of asset and Location URLs, without trailing slash; never taken from a request. */
  readonly publicUrl: string
  /** Decompressed bytes of one body; also the bound of its bytes as sent. */
  readonly ingressLimitBytes: number
  /** How long a synchronous call is held open, from its acceptance. */
  readonly syncDeadlineMs: number
  readonly capabilities: CapabilityTable
  /** Bytes of large bodies that may be under way at once; default 1 GiB. See `byteBudget.ts`. */
  readonly largeBodiesBytesMax?: number
}

/** The first signs, all verify: so keys are rotated without breaking the URLs of the last 24 hours. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]]
export type SigningKey = { readonly id: string; readonly secret: string }

/** One request for access log and metrics: enumerations, patterns and ids, never what a client wrote. */
export type Observation = {
  /** Pattern of the route, or `unmatched`. */
  readonly route: string
  /** A method of HTTP, or `OTHER`. */
  readonly method: string
  /** 499: the client left before the answer was sent. */
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  readonly accountId?: string
  readonly taskId?: string
  /** Only of a request that made a task (false) or joined one by its key (true). */
  readonly replayed?: boolean
}

export type ReportedRequest = { readonly requestId: string; readonly route: string }
