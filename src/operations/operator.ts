import type { CheckDeps } from './channels.ts'
import type { KeyDeps } from './keys.ts'
import type { OperationDeps } from './operation.ts'
import type { QueueDeps } from './overview.ts'
import type { CancelDeps, ListTasksDeps, RetryDeps, ShowTaskDeps } from './tasks.ts'

/** What all operations together work with: who asks, PostgreSQL, and the parts. */
export type Operator = OperationDeps & OperatorParts

/** What needs neither PostgreSQL nor the name of who asks. */
export type OperatorParts = Omit<
  CancelDeps & CheckDeps & KeyDeps & ListTasksDeps & QueueDeps & RetryDeps & ShowTaskDeps,
  keyof OperationDeps
>
