import { type Command, type CommandFacts, isCodedError, MortiseError } from 'mortise/sdk';
import { readOptions } from './options.js';
import type { ReconcileParts } from './parts.js';
import { reconcile } from './reconcile.js';
import { reportDetails, reportText } from './report/report-text.js';

/**
 * `mortise memory reconcile`: 0 nothing is missing any more, 1 something is, 2 wrong usage or an error. An error is thrown,
 * and so told as those of every other command are.
 */
export function reconcileCommand(facts: CommandFacts, parts: ReconcileParts): Command {
  return {
    ...facts,
    isRead: (input) => readOptions(input)?.fixes === false,
    async run(input, ctx) {
      const options = readOptions(input);
      if (options === undefined) {
        return { exitCode: 2, data: { error: 'usage', usage: facts.usage }, text: `Usage: mortise ${facts.usage}` };
      }
      try {
        const report = await reconcile(options, ctx, parts);
        const detail = input.options.verbose === true ? { detail: reportDetails(report) } : {};
        return { exitCode: report.exit_code, data: report, text: reportText(report), ...detail };
      } catch (error) {
        if (ctx.signal.aborted || isCodedError(error)) throw error;
        parts.log.error({ err: error }, 'The reconciliation failed.');
        throw new MortiseError('reconcile_failed', 'The reconciliation failed; the log says why.', { cause: error });
      }
    },
  };
}
