import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import { createApiDocument } from '../../../src/http/apiDocument.ts'
import { routeGroups } from '../../../src/http/routes.ts'
import type { ProxiedRequest } from './faultProxy.ts'

/** Operations that the clients leave to others, and why. */
const left = {
  'another path of the same': ['getTaskByOtherPath', 'getTaskResultByOtherPath'],
  "for vendors' clients": [
    'generateImage',
    'editImage',
    'generateContent',
    'asyncGenerateContent',
    'generateContentV1',
    'asyncGenerateContentV1',
    'streamGenerateContent',
    'streamGenerateContentV1',
  ],
  'models.list has it': ['getModel'],
  'for browsers and operators': ['getHealth', 'getReadiness', 'getApiDocument'],
}

/** Returns the operations of the API that a client should have called, and has not. */
export function uncalledOperations(seen: readonly ProxiedRequest[]): readonly string[] {
  const document = createApiDocument(routeGroups, {
    publicUrl: 'https://images.example',
    models: createModelTable(),
  })
  const called = (method: string, path: string) => {
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/:]+')}$`)
    return seen.some(
      (each) => each.method === method.toUpperCase() && pattern.test(each.path.replace(/\?.*/, '')),
    )
  }
  const leftOut: readonly string[] = Object.values(left).flat()
  return Object.entries(document.paths ?? {}).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => path !== '/v1/assets/{task_id}/{name}' && !called(method, path))
      .map(([, operation]) => String(Object(operation).operationId))
      .filter((id) => !leftOut.includes(id)),
  )
}
