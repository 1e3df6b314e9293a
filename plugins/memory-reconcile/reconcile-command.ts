import { type Command, type CommandFacts, isCodedError, MortiseError } from 'mortise/sdk';
import { type ReconcileDeps, readOptions } from './options.js';
import { reconcile } from './reconcile.js';
import { reportDetails, reportText } from './report.js';

/**
 * `mortise memory reconcile`: exit 0 nothing is missing, 1 something is, 2 wrong usage or an error (thrown, as in every
 * other command).
 */
export function reconcileCommand(facts: CommandFacts, deps: ReconcileDeps): Command {
  return {
    ...facts,
    isRead: (input) => readOptions(input)?.fixes === false,
    async run(input, ctx) {
      const options = readOptions(input);
      if (options === undefined) {
        return { exitCode: 2, data: { error: 'usage', usage: facts.usage }, text: `Usage: mortise ${facts.usage}` };
      }
      try {
        const report = await reconcile(options, ctx, deps);
        const detail = input.options.verbose === true ? { detail: reportDetails(report) } : {};
        return { exitCode: report.exit_code, data: report, text: reportText(report), ...detail };
      } catch (error) {
        if (ctx.signal.aborted || isCodedError(error)) throw error;
        deps.log.error({ err: error }, 'the reconciliation failed');
        throw new MortiseError('reconcile_failed', 'The reconciliation failed; see the log.', { cause: error });
      }
    },
  };
}
