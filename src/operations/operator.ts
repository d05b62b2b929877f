import type { CheckDeps } from './channels.ts'
import type { KeyDeps } from './keys.ts'
import type { OperationDeps } from './operation.ts'
import type { QueueDeps } from './overview.ts'
import type { ContentDeps } from './taskContents.ts'
import type { CancelDeps, ListTasksDeps, RetryDeps, ShowTaskDeps } from './tasks.ts'

/** What all operations together work with: who asks, PostgreSQL, the blob store, and the parts. */
export type Operator = OperationDeps & ContentDeps & OperatorParts

/** What needs neither PostgreSQL nor the name of who asks. */
export type OperatorParts = Omit<
  CancelDeps & CheckDeps & KeyDeps & ListTasksDeps & QueueDeps & RetryDeps & ShowTaskDeps,
  keyof OperationDeps
>
