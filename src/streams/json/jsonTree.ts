import type { Json } from '../../domain/json.ts'
import type { JsonIntakeFailure } from './readJsonDocument.ts'

export type JsonBounds = {
  readonly depthMax: number
  /** Keys, array items and values together. */
  readonly tokensMax: number
  /** Of equal keys in one object, whether the document is refused or the last one counts. */
  readonly equalKeys: 'refuse' | 'last'
}

type Container =
  | { readonly kind: 'object'; readonly members: { [key: string]: Json }; key: string }
  | { readonly kind: 'array'; readonly items: Json[] }

/** A document that grows: what is open of it, outermost first, and the whole once all is closed. */
export type JsonTree = {
  readonly bounds: JsonBounds
  readonly open: Container[]
  root: Json | undefined
  tokens: number
}

export function createJsonTree(bounds: JsonBounds): JsonTree {
  return { bounds, open: [], root: undefined, tokens: 0 }
}

/** The whole document; `undefined` while anything of it is missing. */
export function wholeOf(tree: JsonTree): Json | undefined {
  return tree.open.length === 0 ? tree.root : undefined
}

/** Where the next value goes. */
export function pathOf(tree: JsonTree): (string | number)[] {
  return tree.open.map((container) =>
    container.kind === 'object' ? container.key : container.items.length,
  )
}

export function place(tree: JsonTree, value: Json): JsonIntakeFailure | undefined {
  const container = tree.open.at(-1)
  if (container === undefined) tree.root = value
  else if (container.kind === 'array') container.items.push(value)
  else setMember(container.members, container.key, value)
  tree.tokens += 1
  return tree.tokens > tree.bounds.tokensMax ? { tag: 'too_many_tokens' } : undefined
}

export function enter(tree: JsonTree, kind: Container['kind']): JsonIntakeFailure | undefined {
  tree.open.push(kind === 'object' ? { kind, members: {}, key: '' } : { kind, items: [] })
  return tree.open.length > tree.bounds.depthMax ? { tag: 'too_deep' } : undefined
}

/** Closes the innermost container and places it. */
export function leave(tree: JsonTree): JsonIntakeFailure | undefined {
  const container = tree.open.pop()
  if (container === undefined) throw new Error('Bug: the parser closed what it had not opened')
  return place(tree, container.kind === 'object' ? container.members : container.items)
}

/** Names the member of the innermost object that the next value becomes. */
export function nameMember(tree: JsonTree, key: string): JsonIntakeFailure | undefined {
  const container = tree.open.at(-1)
  if (container?.kind !== 'object') throw new Error('Bug: a key outside of an object')
  container.key = key
  if (tree.bounds.equalKeys === 'refuse' && Object.hasOwn(container.members, key)) {
    return { tag: 'duplicate_key', path: pathOf(tree) }
  }
  tree.tokens += 1
  return undefined
}

/** A plain own member even for `__proto__`, which an assignment would turn into the prototype. */
function setMember(members: { [key: string]: Json }, key: string, value: Json): void {
  if (key !== '__proto__') members[key] = value
  else
    Object.defineProperty(members, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    })
}
