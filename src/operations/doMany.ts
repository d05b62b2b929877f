import type { Done } from './operation.ts'
import { codeOf, failureText } from './operation.ts'

/** Why one of many was refused. */
export type Refusal = { readonly reason: string; readonly message: string }

/** How many were done and refused so far. */
export type Progress = { readonly done: number; readonly refused: number; readonly total: number }

/** Does the same to many things, one after the other. A refusal does not stop it. */
export async function doMany<Value>(
  ids: readonly string[],
  doOne: (id: string) => Done<Value>,
  onProgress: (progress: Progress) => void = () => {},
) {
  const done: Value[] = []
  const refused: (Refusal & { readonly id: string })[] = []
  for (const id of ids) {
    onProgress({ done: done.length, refused: refused.length, total: ids.length })
    const result = await doOne(id)
    if (result.ok) done.push(result.value)
    else {
      const { failure } = result
      refused.push({ id, reason: codeOf(failure), message: failureText(failure) })
    }
  }
  return { done, refused }
}
