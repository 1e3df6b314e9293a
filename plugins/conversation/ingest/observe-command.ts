import {
  type CallContext,
  type Command,
  type CommandFacts,
  type CommandInput,
  MortiseError,
  printableJson,
  wrongUsage,
} from 'mortise/sdk';
import { type ObservationsDeps, takeObservations } from './observations-route.js';

/** `mortise observe --text <text>` or `--file <json>`. */
export function observeCommand(facts: CommandFacts, deps: ObservationsDeps): Command {
  return {
    ...facts,
    run: async ({ args, options }, ctx) => {
      const { text, file, session } = options;
      const one = (typeof text === 'string') !== (typeof file === 'string');
      if (args.length > 0 || !one || (session !== undefined && text === undefined)) return wrongUsage(facts);
      const observation = typeof text === 'string' ? messageOf(text, options, ctx) : parse(String(file));
      const { body } = await takeObservations(deps, observation, true, ctx);
      const refused = 'rejected' in body && body.rejected !== 0;
      return { exitCode: refused ? 1 : 0, data: body, text: printableJson(body, 2) };
    },
  };
}

function messageOf(text: string, { session }: CommandInput['options'], { principal }: CallContext): object {
  return {
    source_name: 'cli',
    actor: { actor_type: 'user', actor_id: principal.actor ?? principal.id },
    payload: { text },
    ...(typeof session === 'string' ? { session_key: session } : {}),
  };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new MortiseError('invalid_json', 'The file is not JSON.', { status: 400 });
  }
}
