import type { Operation } from './operation.ts'
import { getAccount, getModel, getUsage, listModels } from './operations/account.ts'
import { getAsset } from './operations/assets.ts'
import { contentOperations } from './operations/content.ts'
import { editImage, generateImage } from './operations/images.ts'
import { getApiDocument, getHealth, getReadiness } from './operations/service.ts'
import {
  cancelTask,
  getTaskEvents,
  listTasks,
  submitTask,
  taskLookups,
  taskResults,
} from './operations/tasks.ts'
import { webhookOperations } from './operations/webhooks.ts'

/** Every operation of the API, in the order in which readers see them within their group. */
export const operations: readonly Operation[] = [
  submitTask,
  ...taskLookups,
  ...taskResults,
  listTasks,
  getTaskEvents,
  cancelTask,
  getAsset,
  generateImage,
  editImage,
  ...contentOperations,
  getAccount,
  listModels,
  getModel,
  getUsage,
  ...webhookOperations,
  getHealth,
  getReadiness,
  getApiDocument,
]
