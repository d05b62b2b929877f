import type { UpstreamCaller, UpstreamOutcome } from '../../../src/domain/upstream/upstreamCall.ts'

const image = Buffer.from('not really a picture')

/** Returns the outcome of a call that got an image. */
export function succeeded(): Extract<UpstreamOutcome, { class: 'succeeded' }> {
  return {
    class: 'succeeded',
    evidence: { reason: 'image', httpStatus: 200 },
    image: {
      mimeType: 'image/png',
      width: 16,
      height: 16,
      bytes: image,
      discard: () => {},
    },
    native: { response: { data: [{ b64_json: '' }] }, imagePath: ['data', 0, 'b64_json'] },
  }
}

/** An upstream that counts its calls and gives one outcome after the other, the last for ever. */
export function countedUpstream(...outcomes: UpstreamOutcome[]) {
  let calls = 0
  const call: UpstreamCaller = async () => {
    calls += 1
    return outcomes[Math.min(calls, outcomes.length) - 1] ?? succeeded()
  }
  return { call, calls: () => calls }
}
