import type { Arbitrary } from 'fast-check'
import {
  boolean,
  constantFrom,
  double,
  integer,
  jsonValue,
  oneof,
  record,
  string,
  tuple,
} from 'fast-check'
import type { Route } from '../../../src/http/route.ts'

// What a stranger may put into a request of any route, of the API or of the admin API.

export const oddText = oneof(
  string({ minLength: 1, maxLength: 40, unit: 'binary' }),
  constantFrom(
    ...'0 1 -1 100 101 1e3 ٣ none null % _ =cmd() <script> ..%2f'.split(' '),
    ...'2026-02-30 2026-01-01 1767225600 99999999999999'.split(' '),
    ...'5000/day 1/fortnight account,day account,account familyb-image-2-vip'.split(' '),
    `task_${'0'.repeat(32)}`,
    `task_${'A'.repeat(32)}`,
    "'; drop table task --",
    '\0',
    'a\0b',
    '\u001B[31m',
    'x'.repeat(500),
  ),
)
/** Any value of a field of a body. */
export const oddValue = oneof(oddText, boolean(), integer(), double(), jsonValue())

/** Any of these fields, and any values. */
export function oddObject(names: readonly string[], value: Arbitrary<unknown>) {
  return record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] })
}

/** Texts that a URL can carry as one part of a path. `fetch` takes `.` and `..` away. */
const pathPart = oddText.filter((text) => text.isWellFormed() && !/^\.{1,2}$/.test(text))

type Asked = Pick<Route, 'path' | 'params' | 'query'>

/** The path of a route, with any text in each parameter, or a known one. */
export function pathOf(
  { path, params = {} }: Asked,
  known: Readonly<Record<string, string>> = {},
): Arbitrary<string> {
  const names = Object.keys(params)
  const part = (name: string) =>
    name in known ? oneof(pathPart, constantFrom(known[name] ?? '')) : pathPart
  return tuple(...names.map(part)).map((values) => {
    const encoded = values.map((value) => encodeURIComponent(value))
    return names.reduce((text, name, at) => text.replace(`{${name}}`, encoded[at] ?? ''), path)
  })
}

/** Any query of a route. */
export function queryOf({ query }: Asked): Arbitrary<string> {
  return oddQuery(Object.keys(query?.shape ?? {}), oddText)
}

/** Any of these parameters, and any values. */
export function oddQuery(names: readonly string[], value: Arbitrary<string>): Arbitrary<string> {
  return oddObject(names, value).map((given) => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(given)) query.set(name, String(value))
    return query.toString()
  })
}
