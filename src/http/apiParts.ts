import type { StreamTimes } from './answers/answerStream.ts'
import type { SigningKeys } from './assetUrl.ts'
import type { ByteBudget } from '../bytes/byteBudget.ts'
import type { ClientWaits, WaitersMax } from './clientWaits.ts'
import type { ModelTable } from '../domain/models/modelTable.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { RequestObservers } from './middleware.ts'
import type { AccountReads } from '../store/accountReads.ts'
import type { TaskService } from '../tasks/taskService.ts'
import type { Variants } from '../tasks/variants.ts'
import type { WebhookService } from '../tasks/webhooks/webhookService.ts'

/** Everything that the HTTP API needs. `src/wiring/apiProcess.ts` provides it. */
export type ApiDeps = RequestObservers & {
  readonly tasks: TaskService
  readonly webhooks: WebhookService
  readonly reads: AccountReads
  /** Reads a task of any account, for a request with a signed asset URL. */
  readonly readTaskOfImage: (taskId: string) => Promise<TaskView | undefined>
  /** Contains the input images of requests, and the finished images. */
  readonly blobs: BlobStore
  /** Smaller forms of finished images, and other formats. */
  readonly variants: Variants
  readonly config: ApiConfig
  /** Sign and verify asset URLs. */
  readonly signingKeys: SigningKeys
  /** Returns whether `/readyz` answers 200. A rejected promise counts as false. */
  readonly ready: () => Promise<boolean>
  /** Aborts when the process begins to stop. Waiting lookups are answered then, and event streams end. */
  readonly stopping: AbortSignal
}

export type ApiConfig = {
  /**
   * The base of asset URLs and Location headers, without a trailing slash. Only the configuration sets this
   * text; a request never does.
   */
  readonly publicUrl: string
  /** The maximum size of one request body. It limits the bytes as sent, and also the decompressed bytes. */
  readonly ingressLimitBytes: number
  /**
   * How long a synchronous call may wait for its image, counted from the moment its request is accepted. It binds no
   * streamed call.
   */
  readonly syncDeadlineMs: number
  readonly models: ModelTable
  /** Whether the playground, the reference and the OpenAPI document are served. Nobody needs a key for them. */
  readonly publicPages: boolean
  /** The file in which `npm start` says what it still builds. Absent: no `npm start` runs this process. */
  readonly engineFile?: string
  /** Whether a GET of an image is answered with an address of the blob store, if the store has addresses. */
  readonly assetRedirect: boolean
  /**
   * Limit for the bytes of all large bodies in memory at the same time. Default 256 MiB. See `byteBudget.ts`.
   */
  readonly largeBodiesBytesMax?: number
  /** Limits for the waiters of one account and of the process. See `clientWaits.ts`. */
  readonly waitersMax?: WaitersMax
  /** When a streamed answer begins, and how often it gets a sign of life. See `answerStream.ts`. */
  readonly streamTimes?: StreamTimes
}

/** The dependencies, and the state that one API process keeps across requests. */
export type ApiParts = ApiDeps & {
  /** Memory for bodies until their requests are accepted. */
  readonly largeBodies: ByteBudget
  readonly waits: ClientWaits
}
