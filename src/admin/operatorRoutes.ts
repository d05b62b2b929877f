import type { AdminParts, AdminRoute } from './adminParts.ts'
import { accountRoutes } from './routes/accountRoutes.ts'
import { listAuditRoute } from './routes/auditRoute.ts'
import { channelRoutes } from './routes/channelRoutes.ts'
import { keyRoutes } from './routes/keyRoutes.ts'
import { moneyRoutes } from './routes/moneyRoutes.ts'
import { overviewRoutes } from './routes/overviewRoutes.ts'
import { getSessionRoute } from './routes/sessionRoute.ts'
import { taskContentRoutes } from './routes/taskContentsRoutes.ts'
import { taskRoutes } from './routes/taskRoutes.ts'
import { webhookRoutes } from './routes/webhooksOfAll.ts'
import type { DocumentAbout } from '../http/apiDocument.ts'
import { createApiDocument } from '../http/apiDocument.ts'
import type { RouteGroup } from '../http/route.ts'
import { documentRoute, sendDocument } from '../http/routes/getApiDocument.ts'
import { getHealthRoute, getReadinessRoute } from '../http/routes/health.ts'

const getDocument: AdminRoute = {
  ...documentRoute,
  path: '/admin/openapi.json',
  handler: () => sendDocument(createAdminDocument),
}

const groups: readonly RouteGroup<AdminParts>[] = [
  {
    name: 'Overview',
    about: 'How the installation is doing, and what an id belongs to.',
    routes: overviewRoutes,
  },
  { name: 'Accounts', about: 'Who may use it, and their credits.', routes: accountRoutes },
  { name: 'Keys', about: 'API keys of accounts.', routes: keyRoutes },
  { name: 'Tasks', about: 'What clients asked for, and how it went.', routes: taskRoutes },
  {
    name: 'Contents of tasks',
    about: 'Prompts and images. Each look is recorded.',
    routes: taskContentRoutes,
  },
  { name: 'Channels', about: 'Accounts at vendors.', routes: channelRoutes },
  {
    name: 'Webhooks',
    about: 'Notifications of accounts, and their deliveries.',
    routes: webhookRoutes,
  },
  { name: 'Money', about: 'The ledger, and what was used.', routes: moneyRoutes },
  { name: 'Audit', about: 'Who changed what.', routes: [listAuditRoute] },
  {
    name: 'Service',
    about: 'Who asks, and whether the process works.',
    routes: [getSessionRoute, getHealthRoute, getReadinessRoute, getDocument],
  },
]

/** Every route of the admin API, in the order in which readers see them. */
export const adminRoutes: readonly AdminRoute[] = groups.flatMap(({ routes }) => routes)

const about: DocumentAbout = {
  title: 'Darkroom for operators',
  description: `What an operator does with accounts, money, tasks and channels. Each operation is one that the command
line has too, and each change is recorded with the id of the key.

A viewer's key gets 403 on every POST, PATCH and DELETE, and on what shows prompts and images. Unknown names in the
query and the body are 400. A request of a foreign \`Host\` or \`Origin\` is 403.`,
  key: 'A secret of ADMIN_KEYS.',
  errors: ['access_denied'],
}

/** Makes the OpenAPI 3.1 document of the admin API. */
export function createAdminDocument() {
  return createApiDocument(groups, { publicUrl: '/', models: new Map(), about })
}
