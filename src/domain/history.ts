/** The events of a workflow's history in Temporal's JSON, as far as they are looked at here. */
export type HistoryEvents = readonly Readonly<Record<string, unknown>>[]

/** What came of running a history against the workflow code of a checkout, without effects. */
export type Replayed =
  | { readonly kind: 'same'; readonly events: number }
  | {
      readonly kind: 'differs'
      readonly events: number
      /** The first event that the code would not have brought about. */
      readonly at: HistoryEvents[number]
      /** What Temporal's SDK says of it. */
      readonly reason: string
    }
