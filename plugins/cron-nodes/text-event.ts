import { type CronNode, type CronNodeFacts, isBlankText } from 'mortise/sdk';

/** Does what a text task does, with its own text. */
export function textEventNode(facts: CronNodeFacts): CronNode {
  return {
    ...facts,
    validate: ({ text }) =>
      typeof text !== 'string' || isBlankText(text) ? { predicate: 'requires non-empty text' } : undefined,
    async run({ text }, ctx) {
      const { reply } = await ctx.runText(String(text));
      return { output: { reply } };
    },
  };
}
