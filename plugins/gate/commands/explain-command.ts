import { type Command, type CommandFacts, wrongUsage } from 'mortise/sdk';
import { explain } from '../routes/explain.js';
import type { RunningGate } from '../start-gate.js';

/** `mortise gate explain --text <text>`. */
export function explainCommand(facts: CommandFacts, running: RunningGate): Command {
  return {
    ...facts,
    isRead: () => true,
    run: async ({ args, options: { text, session, actor } }) => {
      if (args.length > 0 || typeof text !== 'string') return wrongUsage(facts);
      const explained = explain(running, {
        source_name: 'cli',
        payload: { text },
        ...(typeof session === 'string' ? { session_key: session } : {}),
        ...(typeof actor === 'string' ? { actor: { actor_type: 'user', actor_id: actor } } : {}),
      });
      const { action, reasons, scene, score } = explained.decision;
      const lines = explained.trace.map(
        ({ stage, elapsed_us, changes }) =>
          `  ${stage} (${elapsed_us} µs): ${changes.length === 0 ? 'nothing' : JSON.stringify(changes)}`,
      );
      const first = `${action}: ${reasons.join(', ')} (scene ${scene}, score ${score})`;
      return { exitCode: 0, data: explained, text: [first, ...lines].join('\n') };
    },
  };
}
