import type { ObservationInput } from 'mortise/sdk';

/** Code points of a text from outside; what is beyond is cut off, and the observation says so. */
const textLimit = 200_000;

/** The payload with its text cut to what may come in, and the flag for it when something was lost. */
export function cutText(payload: ObservationInput['payload']): Pick<ObservationInput, 'payload' | 'quality_flags'> {
  const { text } = payload;
  if (typeof text !== 'string' || text.length <= textLimit) return { payload };
  const points = [...text];
  if (points.length <= textLimit) return { payload };
  return { payload: { ...payload, text: points.slice(0, textLimit).join('') }, quality_flags: ['TRUNCATED'] };
}
