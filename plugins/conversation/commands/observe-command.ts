import {
  type CallContext,
  type Command,
  type CommandFacts,
  type CommandInput,
  MortiseError,
  wrongUsage,
} from 'mortise/sdk';
import { type ObservationsPorts, takeObservations } from '../ingest/observations-route.js';

/** `mortise observe --text <text>` or `--file <json>`. */
export function observeCommand(facts: CommandFacts, ports: ObservationsPorts): Command {
  return {
    ...facts,
    run: async ({ args, options }, ctx) => {
      const { text, file, session } = options;
      const one = (typeof text === 'string') !== (typeof file === 'string');
      if (args.length > 0 || !one || (session !== undefined && text === undefined)) return wrongUsage(facts);
      const observation = typeof text === 'string' ? said(text, options, ctx) : parsed(String(file));
      const { body } = await takeObservations(ports, observation, true, ctx);
      const refused = 'rejected' in body && body.rejected !== 0;
      return { exitCode: refused ? 1 : 0, data: body, text: JSON.stringify(body, null, 2) };
    },
  };
}

function said(text: string, { session }: CommandInput['options'], { principal }: CallContext): object {
  return {
    source_name: 'cli',
    actor: { actor_type: 'user', actor_id: principal.actor ?? principal.id },
    payload: { text },
    ...(typeof session === 'string' ? { session_key: session } : {}),
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new MortiseError('invalid_json', 'The file is not JSON.', { status: 400 });
  }
}
