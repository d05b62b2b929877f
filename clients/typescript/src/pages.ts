import type { CallOptions, Caller } from './callOptions.ts'
import { pathWith } from './callOptions.ts'

export type Page<Row> = { readonly data: readonly Row[]; readonly has_more: boolean }

/** A list that is read as far as it is iterated over. */
export type Rows<Row> = AsyncIterable<Row> & {
  /** The same page by page, each with one request. */
  readonly pages: () => AsyncGenerator<Page<Row>, void, undefined>
}

/** Where a list is, how many rows a page has, and after which id it continues. */
export type ListSource<Row> = {
  readonly path: string
  readonly query: { readonly after?: string }
  readonly idOf: (row: Row) => string
}

/** Returns the rows of a list, over all pages. The options hold for each request. */
export function listRows<Row>(
  caller: Caller,
  { path, query, idOf }: ListSource<Row>,
  options: CallOptions,
): Rows<Row> {
  async function* pages() {
    let { after } = query
    for (;;) {
      const pagePath = pathWith(path, { ...query, after })
      const page = await caller.json<Page<Row>>({ method: 'GET', path: pagePath }, options)
      yield page
      const last = page.data.at(-1)
      if (!page.has_more || last === undefined) return
      after = idOf(last)
    }
  }
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.data
    },
  }
}
