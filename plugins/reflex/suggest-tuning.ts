import { type Disposable, MortiseError, type ObservationInput, type StartHost, type Tool } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import type { RunningReflex } from './start-reflex.js';

/** Contributes the tool `suggest_tuning` while `expose_tuning_tool` of the gate's configuration is set. */
export function offerTuningTool(host: StartHost<Config>, { gate, conversation }: RunningReflex): void {
  let offered: Disposable | undefined;
  const follow = (): void => {
    const exposed = gate.snapshot().config.expose_tuning_tool;
    if (exposed) offered ??= host.contribute('tool', 'suggest_tuning', suggestTuning(conversation));
    else {
      void offered?.dispose();
      offered = undefined;
    }
  };
  host.own(gate.onChange(follow));
  follow();
}

function suggestTuning(conversation: RunningReflex['conversation']): Tool {
  return {
    summary: 'Suggests a change of how messages are handled, for a limited time.',
    audience: ['agent'],
    sideEffects: true,
    inputSchema: {
      type: 'object',
      required: ['suggested_overrides'],
      additionalProperties: false,
      properties: {
        suggested_overrides: {
          type: 'object',
          description: 'The switches to change, e.g. {"force_low_model": true}.',
          minProperties: 1,
        },
        ttl_sec: { type: 'integer', description: 'How long it should last, seconds.' },
        reason: { type: 'string', maxLength: 500 },
      },
    },
    run(args, { session, principal, correlationId, trace }) {
      const suggestion: ObservationInput = {
        obs_type: 'control',
        source_name: 'agent:speaker',
        source_kind: 'internal',
        ingress: 'internal',
        session_key: session?.key,
        actor: { actor_type: 'service', actor_id: 'agent' },
        payload: { kind: 'tuning_suggestion', data: args },
        correlation_id: correlationId,
        trace_id: trace.traceId,
      };
      const published = conversation.publish(suggestion, { principal });
      if (!published.ok) throw new MortiseError('backpressure', 'The suggestion was not accepted.', { status: 503 });
      return { text: 'The suggestion was submitted.', obs_id: published.observation.obs_id };
    },
  };
}
