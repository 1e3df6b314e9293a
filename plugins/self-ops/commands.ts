import { type Command, type CommandFacts, type CommandInput, printableText, wrongUsage } from 'mortise/sdk';
import type { SelfOps } from './self-ops.js';

export function bootstrapCommand(facts: CommandFacts, ops: SelfOps): Command {
  return {
    ...facts,
    async run({ options }, ctx) {
      const body = bodyOf(options);
      if (body === undefined) return wrongUsage(facts, '--body is required.');
      const data = await ops.bootstrap(body, ctx);
      const session = data.chat ? `Session ${data.chat.session_id}, chat ${data.chat.id}` : 'No session was started';
      return { exitCode: 0, data, text: printableText(`${session}\n\n${data.reply}`) };
    },
  };
}

export function modelCommand(facts: CommandFacts, ops: SelfOps): Command {
  return {
    ...facts,
    async run({ args: [session], options }, ctx) {
      const body = bodyOf(options);
      if (session === undefined) return wrongUsage(facts);
      if (body === undefined) return wrongUsage(facts, '--body is required.');
      const data = await ops.setSessionModel(session, body, ctx);
      const { provider_id, model } = data.active_llm_override;
      return { exitCode: 0, data, text: printableText(`The session ${session} uses ${provider_id}/${model}.`) };
    },
  };
}

export function previewCommand(facts: CommandFacts, ops: SelfOps): Command {
  return {
    ...facts,
    async run({ options }, ctx) {
      const body = bodyOf(options);
      if (body === undefined) return wrongUsage(facts, '--body is required.');
      const data = await ops.preview(body, ctx);
      const { checks } = data;
      const lines = [
        data.unified_diff || 'Nothing would change.',
        `Risk: ${checks.risk_level}`,
        ...(checks.sensitive_fields ? [`Secrets: ${checks.sensitive_fields.join(', ')}`] : []),
        ...(checks.denied_paths ? [`May not be changed: ${checks.denied_paths.join(', ')}`] : []),
        ...(checks.structure_error === undefined ? [] : [`Not valid: ${checks.structure_error}`]),
        `mutation_id: ${data.mutation_id}`,
        `confirm_hash: ${data.confirm_hash}`,
        `Apply it before ${data.expires_at} with: mortise self apply`,
      ];
      return { exitCode: 0, data, text: printableText(lines.join('\n')) };
    },
  };
}

export function applyCommand(facts: CommandFacts, ops: SelfOps): Command {
  return {
    ...facts,
    async run({ options }, ctx) {
      const body = bodyOf(options);
      if (body === undefined) return wrongUsage(facts, '--body is required.');
      const data = await ops.apply(body, ctx);
      return { exitCode: 0, data, text: `Changed: ${data.applied_targets.join(', ')} (audit row ${data.audit_id})` };
    },
  };
}

/** The CLI has checked that it is JSON. */
function bodyOf({ body }: CommandInput['options']): unknown {
  return typeof body === 'string' ? JSON.parse(body) : undefined;
}
