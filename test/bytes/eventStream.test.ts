import { expect, it } from 'vitest'
import { eventsOf, isEventStream } from '../../src/bytes/eventStream.ts'

const eventsIn = (text: string) =>
  eventsOf(Buffer.from(text)).map(({ name, data }) => [name, data.toString().trim()])

it.each([
  [
    'event: a\ndata: 1\n\nevent: b\ndata: 2\n\n',
    [
      ['a', '1'],
      ['b', '2'],
    ],
  ],
  [
    'event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n',
    [
      ['a', '1'],
      ['', '2'],
    ],
  ],
  ['\uFEFFdata:1\n\n', [['', '1']]],
  [': keep-alive\n\n: keep-alive\n\ndata: 1\n\n', [['', '1']]],
  ['id: 7\nretry: 3\ndata: 1\nevent: late\n\n', [['late', '1']]],
  ['data: {\ndata: "a":1}\n\n', [['', '{\n"a":1}']]],
  ['event: a\ndata: not ended', [['a', 'not ended']]],
  ['event: a\n\ndata: 1\n\n', [['', '1']]],
  ['event: a\nother: 1\n\n', []],
])('the events of %j are read', (text, events) => {
  expect(isEventStream(Buffer.from(text))).toBe(true)
  expect(eventsIn(text)).toEqual(events)
})

it.each(['', '{"data":1}', '[1]', '<html>', '\x89PNG\r\n\x1a\n', 'dataset: 1', 'a: b'])(
  '%j is no stream of events',
  (text) => {
    expect(isEventStream(Buffer.from(text, 'latin1'))).toBe(false)
  },
)

it('the lines of a body without end are not read without end', () => {
  expect(eventsOf(Buffer.from('data: 1\n\n'.repeat(200_000))).length).toBe(50_000)
})
