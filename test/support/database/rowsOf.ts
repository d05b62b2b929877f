import type { ListPage } from '../../../src/domain/lists/list.ts'

/** Returns the rows of a page. Throws when the list has no row with the id `after`. */
export function rowsOf<Row>(page: ListPage<Row>): readonly Row[] {
  if (page === 'unknown_after') throw new Error(page)
  return page.data
}
