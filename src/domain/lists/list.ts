/** One page of a list, as every answer has it. With `has_more` more rows follow the last one. */
export type List<Row> = {
  readonly object: 'list'
  readonly data: readonly Row[]
  readonly has_more: boolean
}

/** Returns one page of `rows`, which has one row more than `limit` when more follow. Without a limit, all of them. */
export function listOf<Row>(rows: readonly Row[], limit = rows.length): List<Row> {
  return { object: 'list', data: rows.slice(0, limit), has_more: rows.length > limit }
}

/** A page, or `unknown_after`: the list has no row with the id after which the page should begin. */
export type ListPage<Row> = List<Row> | 'unknown_after'

/** Returns the page with each row changed. */
export function mapPage<From, To>(page: ListPage<From>, to: (row: From) => To): ListPage<To> {
  return page === 'unknown_after' ? page : { ...page, data: page.data.map(to) }
}
