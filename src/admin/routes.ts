import { adminTags } from './adminRoute.ts'
import type { AdminRoute } from './context.ts'
import { accountRoutes } from './routes/accounts.ts'
import { listAuditRoute } from './routes/audit.ts'
import { channelRoutes } from './routes/channels.ts'
import { keyRoutes } from './routes/keys.ts'
import { moneyRoutes } from './routes/money.ts'
import { overviewRoutes } from './routes/overview.ts'
import { getSessionRoute } from './routes/session.ts'
import { taskContentRoutes } from './routes/taskContents.ts'
import { taskRoutes } from './routes/tasks.ts'
import { webhookRoutes } from './routes/webhooks.ts'
import type { DocumentAbout } from '../http/apiDocument.ts'
import { createApiDocument } from '../http/apiDocument.ts'
import { documentRoute, sendDocument } from '../http/routes/getApiDocument.ts'
import { getHealthRoute, getReadinessRoute } from '../http/routes/health.ts'

const getDocument: AdminRoute = {
  ...documentRoute,
  path: '/admin/openapi.json',
  errors: [],
  handler: () => sendDocument(createAdminDocument),
}

/** Every route of the admin API, in the order in which readers see them within their group. */
export const adminRoutes: readonly AdminRoute[] = [
  ...overviewRoutes,
  ...accountRoutes,
  ...keyRoutes,
  ...taskRoutes,
  ...taskContentRoutes,
  ...channelRoutes,
  ...webhookRoutes,
  ...moneyRoutes,
  listAuditRoute,
  getSessionRoute,
  getHealthRoute,
  getReadinessRoute,
  getDocument,
]

const about: DocumentAbout = {
  title: 'Darkroom for operators',
  description: `What an operator does with accounts, money, tasks and channels. Each operation is one that the command
line has too, and each change is recorded with the id of the key.

A viewer's key gets 403 on every POST, PATCH and DELETE, and on what shows prompts and images. Unknown names in the
query and the body are 400. A request of a foreign \`Host\` or \`Origin\` is 403.`,
  tags: adminTags,
  key: 'A secret of ADMIN_KEYS.',
  errors: ['access_denied'],
}

/** Makes the OpenAPI 3.1 document of the admin API. */
export function createAdminDocument() {
  return createApiDocument(adminRoutes, { publicUrl: '/', about })
}
