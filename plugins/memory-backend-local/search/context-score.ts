import type { ScoreParts } from './score.js';

/** Weight of a neighbour's own score, by its distance in the conversation: 1 to 4. */
const weights = [0.45, 0.3, 0.2, 0.1];

/** Number of messages on either side that affect the score of a memory. */
export const reach = weights.length;

/** A memory of a conversation, with its score apart from its neighbours. */
interface Member {
  readonly id: string;
  readonly own: number;
}

/** The share of a score that comes from neighbours. */
export interface ContextParts {
  readonly context: number;
  readonly context_from: readonly { readonly id: string; readonly distance: number; readonly score: number }[];
  /** The factor in all parts; absent for 1. */
  readonly scale?: number;
}

/** The context score of `line[at]`: the sum over its matching neighbours, nearest first. */
export function contextOf(line: readonly Member[], at: number): ContextParts {
  let context = 0;
  const from: { id: string; distance: number; score: number }[] = [];
  for (const [index, weight] of weights.entries()) {
    for (const neighbour of [line[at - index - 1], line[at + index + 1]]) {
      if (neighbour === undefined || neighbour.own === 0) continue;
      context += weight * neighbour.own;
      from.push({ id: neighbour.id, distance: index + 1, score: neighbour.own });
    }
  }
  return { context, context_from: from };
}

/** Multiplies all parts, so that they still add up to the score. */
export function scaleParts<Parts extends ScoreParts & Partial<ContextParts>>(parts: Parts, scale: number): Parts {
  if (scale === 1) return parts;
  const { bm25, coverage, phrase, context = 0, context_from = [] } = parts;
  return {
    ...parts,
    bm25: bm25 * scale,
    coverage: coverage * scale,
    phrase: phrase * scale,
    context: context * scale,
    context_from: context_from.map((from) => ({ ...from, score: from.score * scale })),
    scale,
  };
}
