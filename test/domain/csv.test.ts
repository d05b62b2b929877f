import { expect, it } from 'vitest'
import { csvOf } from '../../src/domain/lists/csv.ts'

it('no text in CSV is read as a formula by a spreadsheet', () => {
  const texts = ['=1+1', '+1', '-1', '@A1', '\t=1', '\r=1', 'a=1']
  expect(csvOf([texts, [-1, null]])).toBe(`'=1+1,'+1,'-1,'@A1,'\t=1,"'\r=1",a=1\r\n-1,\r\n`)
})
